//! Tile programs: steps that a walker gives, and bytes that a run moves through UBs, on one thread. Each result is checked before it
//! is timed.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ubtile_sim::exec::{Global, Run};
use ubtile_sim::product::Soc;
use ubtile_sim::program::{Program, TensorId, Walker};
use ubtile_sim::text;

/// z = x + y in f16, with two slots for each tensor, in `tiles` tiles of so many repeats.
fn add(tiles: u32, repeats: u32) -> Program {
    let text = format!(
        "cores 1
        const TILE = {repeats} * 256
        tensor x: f16[{tiles}, {repeats}, 128] in
        tensor y: f16[{tiles}, {repeats}, 128] in
        tensor z: f16[{tiles}, {repeats}, 128] out
        ub xb: TILE slots 2
        ub yb: TILE slots 2
        ub zb: TILE slots 2
        for s in 0..2 {{
          set_flag v mte2 s
          set_flag mte3 v s
        }}
        for i in 0..{tiles} {{
          let s = mod(i, 2)
          wait_flag v mte2 s
          load xb[s; 0], x[TILE*i] bytes TILE
          load yb[s; 0], y[TILE*i] bytes TILE
          set_flag mte2 v s
          wait_flag mte2 v s
          wait_flag mte3 v s
          add.f16 zb[s; 0], xb[s; 0], yb[s; 0] repeat {repeats}
          set_flag v mte2 s
          set_flag v mte3 s
          wait_flag v mte3 s
          store z[TILE*i], zb[s; 0] bytes TILE
          set_flag mte3 v s
        }}
        for s in 0..2 {{
          wait_flag v mte2 s
          wait_flag mte3 v s
        }}"
    );
    text::parse(&text, &Soc::builtin("Ascend910B1").unwrap()).unwrap().0
}

/// Vector instructions and flags, nothing else.
fn chain(rounds: u32) -> Program {
    let text = format!(
        "cores 1
        ub a: 4096
        for i in 0..{rounds} {{
          adds.f32 a[0], a[0], 1.0 repeat 16
          set_flag v mte3 0
          wait_flag v mte3 0
        }}"
    );
    text::parse(&text, &Soc::builtin("Ascend910B1").unwrap()).unwrap().0
}

fn steps(program: &Program) -> u64 {
    let (mut walker, mut steps) = (Walker::new(program, 0), 0);
    while walker.step().unwrap().is_some() {
        steps += 1;
    }
    steps
}

fn walk(c: &mut Criterion) {
    let mut group = c.benchmark_group("walk");
    for (name, program, expected) in [("add", add(10_000, 1), 14 * 10_000 + 12), ("chain", chain(10_000), 4 * 10_000)] {
        assert_eq!(steps(&program), expected);
        group.throughput(Throughput::Elements(expected));
        group.bench_function(name, |b| b.iter(|| steps(&program)));
    }
}

fn values(c: &mut Criterion) {
    let mut group = c.benchmark_group("values");
    for repeats in [1, 32] {
        let program = add(16_384 / repeats, repeats);
        let mut global = Global::new(&program).unwrap();
        for (tensor, byte) in [(0, 0x3c), (1, 0x40)] {
            // 0x3c3c is 1.0586, 0x4040 is 2.125.
            global.tensor_mut(TensorId(tensor)).fill(byte);
        }
        let run = || {
            let mut run = Run::new(&program, global.clone());
            run.finish().unwrap();
            run
        };
        let done = run();
        let (read, written) = done.moved();
        assert!(done.global().tensor(TensorId(2)).chunks_exact(2).all(|z| z == [0x5e, 0x42]), "1.0586 + 2.125");
        group.throughput(Throughput::Bytes(read + written));
        group.bench_function(BenchmarkId::new("add f16", repeats * 256), |b| b.iter(run));
    }
}

criterion_group!(benches, walk, values);
criterion_main!(benches);
