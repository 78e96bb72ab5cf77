//! In which order pipes and cores take their steps, and what stops them.

use bytemuck::cast_slice;
use ubtile_sim::exec::{Global, Run};
use ubtile_sim::program::{Pipe, TensorId};

use super::{COMPUTED, halt, program, run};

#[test]
fn a_wait_may_stand_before_its_flag() {
    // The vector unit waits while the scalar unit goes on to the load.
    let text = "cores 1
        tensor x: f32[64] in
        tensor z: f32[64] out
        ub a: 256
        wait_flag mte2 v 1
        adds.f32 a[0], a[0], 1.0
        set_flag v mte3 1
        load a[0], x[0] bytes 256
        set_flag mte2 v 1
        wait_flag v mte3 1
        store z[0], a[0] bytes 256
    ";
    let x = [1.0f32; 64];
    assert_eq!(cast_slice::<u8, f32>(&run(text, cast_slice(&x))), [2.0; 64]);
}

#[test]
fn all_cores_wait_for_each_other() {
    // Each core adds what the one behind it wrote before the barrier.
    for sync in ["sync_all hard", "sync_all soft ws[0], b[0]"] {
        let text = format!(
            "cores 4
            tensor x: f32[8] in
            tensor z: f32[32] out
            tensor t: f32[32] workspace
            tensor ws: u8[128] zeroed workspace
            per_core behind: 32, 64, 96, 0
            ub a: 256
            ub b: 128
            let f = float(core)
            dup.f32 a[0], f repeat 1 lanes 8
            {COMPUTED}store t[32*core], a[0] bytes 32
            {sync}
            load a[0], t[behind] bytes 32
            set_flag mte2 mte3 0
            wait_flag mte2 mte3 0
            store z[32*core], a[0] bytes 32
        "
        );
        let z = run(&text, &[0; 32]);
        for (i, value) in cast_slice::<u8, f32>(&z).iter().enumerate() {
            assert_eq!(*value, ((i / 8 + 1) % 4) as f32);
        }
    }
}

#[test]
fn barriers_hold_the_scalar_unit() {
    let text = "cores 1
        tensor x: i32[8] in
        tensor z: i32[8] zeroed out
        ub a: 32
        load a[0], x[0] bytes 32
        barrier all
        let n = read.i32 a[4]
        write.i32 z[4], n + 1
    ";
    let z = run(text, cast_slice(&[3, 4, 5, 6, 7, 8, 9, 10]));
    assert_eq!(cast_slice::<u8, i32>(&z), [0, 5, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn who_waits_for_ever_is_named() {
    let (program, halt) = halt("cores 2\nif core > 0 {\n  wait_flag v mte2 3\n}\nsync_all hard\n");
    assert_eq!(
        halt.describe(&program),
        "nothing can go on: core 0, s at line 5, column 1: sync_all hard; core 1, s at line 5, column 1: sync_all hard; \
         core 1, mte2 at line 3, column 3: wait_flag v mte2 3"
    );
}

#[test]
fn faults_name_the_number_and_its_range() {
    let described = |text: &str| {
        let (program, halt) = halt(text);
        halt.describe(&program)
    };
    for (text, expected) in [
        (
            "cores 2\nub a: 256\nlet n = core + 255\nadds.f32 a[0](0), a[0](0), 1.0 repeat n\n",
            "core 1, line 4, column 1: repeat is 256, and takes 0 to 255",
        ),
        (
            "cores 1\nub a: 256\nfor i in 0..3 {\n  dup.f32 a[128*i], 1.0 lanes 32\n}\n",
            "core 0, line 4, column 3: reaches bytes 256 to 384 of a, of which a slot has 256",
        ),
        (
            "cores 1\nub a: 256 slots 2\ndup.f32 a[0; 0], 1.0 count 65\n",
            "core 0, line 3, column 1: reaches bytes 256 to 260 of a, of which a slot has 256",
        ),
        (
            "cores 1\nub a: 256\nlet n = 4\ndup.f32 a[n], 1.0 lanes 8\n",
            "core 0, line 4, column 1: address 4 of the UB, in a, is no multiple of 32",
        ),
        (
            "cores 3\ntensor x: f32[8] in\nub a: 256\nload_pad a[0], x[16*core] bytes 4\n",
            "core 2, line 4, column 1: reaches bytes 32 to 36 of x, which has 32",
        ),
        (
            "cores 1\nset_flag v mte2 1\nset_flag v mte2 1\n",
            "core 0, line 3, column 1: flag v mte2 1 is set again before anybody waited for it",
        ),
        (
            "cores 1\nub a: 64 slots 2\nlet s = 2\ndup.f32 a[s; 0], 1.0 lanes 8\n",
            "core 0, line 4, column 1: slot is 2, and takes 0 to 1",
        ),
    ] {
        assert_eq!(described(text), expected, "{text}");
    }
    // On a product whose copies are of 32 bytes, so are their addresses.
    let text = "cores 1\ntensor x: f32[99] in\nub a: 256\nload a[0], x[4] bytes 32\n";
    for (soc, ok) in [("Ascend910B1", true), ("Ascend910A", false)] {
        let program = program(text, soc);
        assert_eq!(Run::new(&program, Global::new(&program).unwrap()).finish().is_ok(), ok, "{soc}");
    }
}

#[test]
fn pipes_take_their_turns_as_they_are_told() {
    let program = program(
        "cores 1\ntensor z: f32[8] out\nub a: 32\ndup.f32 a[0], 1.0 lanes 8\nstore z[0], a[0] bytes 32\n",
        "Ascend910B1",
    );
    let stored = |order: [Pipe; 2]| {
        let mut run = Run::new(&program, Global::new(&program).unwrap());
        for _ in 0..3 {
            run.advance(0, Pipe::S).unwrap();
        }
        for pipe in order {
            assert!(run.ready(0, pipe));
            run.advance(0, pipe).unwrap();
            assert!(!run.ready(0, pipe));
        }
        assert!(run.ended());
        cast_slice::<u8, f32>(run.global().tensor(TensorId(0)))[0]
    };
    // Without a flag both orders can happen, and one of them stores what was never written.
    assert_eq!(stored([Pipe::V, Pipe::Mte3]), 1.0);
    assert!(stored([Pipe::Mte3, Pipe::V]).is_nan());
}
