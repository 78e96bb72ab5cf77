//! Copies of inputs of ReplicationPad2dBackward.

use ubtile_kernels::replication_pad2d_backward::{Inputs, Outputs, run, run_parallel, run_share, stage_share};
use ubtile_kernels::{Level, RunError, Values, ValuesMut};
use ubtile_testkit::problems::{Layout, ReplicationPad, output, replication_pad_inputs};
use ubtile_testkit::{Fill, Rng};
use ubtile_tiling::replication_pad2d_backward::plan;
use ubtile_tiling::{Dtype, PlanOptions, TargetSpec, Tensor};

use crate::common::{Threads, values, values_mut};
use crate::{FAR, LIMITED, copy_by_shares, elements};

#[test]
fn copies_change_no_bit() {
    let dtypes = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128];
    for (dtype, inputs) in dtypes.into_iter().flat_map(|d| [FAR[0], FAR[1], Layout::Spread].map(|l| (d, l))) {
        let sizes =
            ReplicationPad { dtype, n: 2, c: 19, h: 18, w: 37, padding: [1, 3, 2, 0], inputs, ..Default::default() };
        let problem = sizes.problem();
        let data = replication_pad_inputs(&problem, Fill::Specials, &mut Rng::new(4));
        let inputs = || Inputs { grad_output: values(&data) };
        let target = TargetSpec::host(2);
        let (walks, copies) =
            (plan(&problem, &target, &LIMITED).unwrap(), plan(&problem, &target, &PlanOptions::default()).unwrap());
        assert!(walks.stagings().next().is_none() && copies.stagings().count() == 1);
        let mut want = output(problem.slot(Tensor::GradInput));
        run(&walks, Level::detect(), inputs(), Outputs { grad_input: values_mut(&mut want) }, &mut []).unwrap();
        let mut workspace = vec![0x5a; copies.workspace_bytes()];
        let mut got = output(problem.slot(Tensor::GradInput));
        let outputs = Outputs { grad_input: values_mut(&mut got) };
        run_parallel(&copies, Level::detect(), &Threads(2), inputs(), outputs, &mut workspace).unwrap();
        assert_eq!(got.bytes(), want.bytes(), "{dtype}");

        // On one thread, in a workspace without the copy.
        workspace.fill(0x5a);
        let mut got = output(problem.slot(Tensor::GradInput));
        let outputs = Outputs { grad_input: values_mut(&mut got) };
        run(&copies, Level::detect(), inputs(), outputs, &mut workspace).unwrap();
        assert_eq!(got.bytes(), want.bytes(), "{dtype} on one thread");

        let mut got = output(problem.slot(Tensor::GradInput));
        let staging = copies.stagings().next().expect("the copy pays");
        let copy = copy_by_shares(&staging, |share, copy| stage_share(&copies, 0, share, inputs(), copy).unwrap());
        for share in (0..copies.block_dim()).rev() {
            let outputs = Outputs { grad_input: elements(&mut got, &copies.share_range(1, share)) };
            let inputs = Inputs { grad_output: values(&copy) };
            run_share(&copies, Level::detect(), 1, share, inputs, outputs).unwrap();
        }
        assert_eq!(got.bytes(), want.bytes(), "{dtype} by shares");
    }
}

/// C64 may begin at any multiple of 4: at others than multiples of 8 too, source and copy.
#[test]
fn complex_numbers_are_copied_wherever_they_begin() {
    let dtype = Dtype::C64;
    let sizes = ReplicationPad { dtype, c: 3, h: 35, w: 17, padding: [1, 0, 0, 2], ..Default::default() };
    for inputs in FAR {
        let problem = ReplicationPad { inputs, ..sizes }.problem();
        let copies = plan(&problem, &TargetSpec::host(2), &PlanOptions::default()).unwrap();
        let staging = copies.stagings().next().expect("the copy pays");
        let data = replication_pad_inputs(&problem, Fill::Uniform, &mut Rng::new(5));
        let given = Inputs { grad_output: values(&data) };
        let want = copy_by_shares(&staging, |share, copy| stage_share(&copies, 0, share, given, copy).unwrap());
        let room = |bytes: usize| vec![0u64; bytes / 8 + 1];
        for (from, to) in [(0, 4), (4, 0), (4, 4)] {
            let mut source = room(data.bytes().len());
            let source = &mut bytemuck::cast_slice_mut(&mut source)[from..][..data.bytes().len()];
            source.copy_from_slice(data.bytes());
            let inputs = Inputs { grad_output: Values::from_bytes(dtype, source).unwrap() };
            let plane = staging.plane() * dtype.size();
            for share in 0..staging.shares {
                let planes = staging.planes(share);
                let mut copy = room(planes.len() * plane);
                let copy = &mut bytemuck::cast_slice_mut(&mut copy)[to..][..planes.len() * plane];
                let into = ValuesMut::from_bytes(dtype, copy).unwrap();
                stage_share(&copies, 0, share, inputs, into).unwrap();
                assert_eq!(copy, &want.bytes()[planes.start * plane..planes.end * plane], "{inputs:?} {from} {to}");
            }
        }
    }
}

/// No buffer is written where another one is too short.
#[test]
fn all_lengths_come_before_copies() {
    let sizes = ReplicationPad { n: 4, c: 5, h: 20, w: 20, inputs: Layout::Transposed, ..Default::default() };
    let problem = sizes.problem();
    let plan = plan(&problem, &TargetSpec::host(1), &PlanOptions::default()).unwrap();
    assert!(plan.stagings().next().is_some());
    let data = replication_pad_inputs(&problem, Fill::Uniform, &mut Rng::new(11));
    let mut workspace = vec![0x5a; plan.workspace_bytes()];
    let error = run(
        &plan,
        Level::detect(),
        Inputs { grad_output: values(&data) },
        Outputs { grad_input: ValuesMut::F32(&mut []) },
        &mut workspace,
    );
    assert_eq!(error, Err(RunError::Length { tensor: Tensor::GradInput, got: 0, want: 8000 }));
    assert!(workspace.iter().all(|byte| *byte == 0x5a));
}
