//! A copy of a strided `grad_output` changes no bit, is made by any number of shares, and needs its workspace.

mod common;

use common::{Threads, values, values_mut};
use ubtile_kernels::{Level, RunError, im2col_backward, replication_pad2d_backward};
use ubtile_testkit::problems::{Im2col, Layout, ReplicationPad, im2col_inputs, output, replication_pad_inputs};
use ubtile_testkit::{Data, Fill, Rng};
use ubtile_tiling::{Dtype, PlanOptions, Staging, TargetSpec, Tensor};

const FAR: [Layout; 2] = [Layout::ChannelsLast, Layout::Transposed];
const LIMITED: PlanOptions = PlanOptions { workspace_limit: Some(0), local_bytes: None };

/// Makes the copy share by share, and then `compute` from it.
fn by_shares(
    staging: &Staging,
    mut stage: impl FnMut(usize, ubtile_kernels::ValuesMut<'_>),
    compute: impl FnOnce(&Data),
) {
    let desc = ubtile_tiling::TensorDesc::contiguous(staging.slot.dtype, staging.slot.shape.as_slice()).unwrap();
    let mut copy = Data::filled(desc, 0x5a);
    let size = staging.plane() * staging.slot.dtype.size();
    for share in (0..staging.shares).rev() {
        let planes = staging.planes(share);
        let part = &mut copy.bytes_mut()[planes.start * size..planes.end * size];
        stage(share, ubtile_kernels::ValuesMut::from_bytes(staging.slot.dtype, part).unwrap());
    }
    compute(&copy);
}

#[test]
fn im2col() {
    use im2col_backward::{Inputs, Outputs, run, run_parallel, run_share, stage_share};
    use ubtile_tiling::im2col_backward::plan;
    for (dtype, inputs) in
        [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64].into_iter().flat_map(|d| FAR.map(|l| (d, l)))
    {
        // More than a block of rows and of columns, multiples of neither.
        let sizes =
            Im2col { dtype, out_dtype: dtype, n: 2, c: 5, h: 7, w: 9, kernel: [2, 2], inputs, ..Default::default() };
        let problem = sizes.problem();
        let data = im2col_inputs(&problem, Fill::Specials, &mut Rng::new(3));
        let inputs = || Inputs { grad_output: values(&data) };
        let target = TargetSpec::host(3);
        let (walks, copies) =
            (plan(&problem, &target, &LIMITED).unwrap(), plan(&problem, &target, &PlanOptions::default()).unwrap());
        assert_eq!(walks.workspace_bytes(), 0);
        assert!(walks.staging().is_none() && walks.prices().any(|price| price.paid > price.unlimited));
        let staging = copies.staging().expect("the copy pays");
        assert!(copies.prices().all(|price| price.paid == price.unlimited));
        let names: Vec<_> = copies.phases().map(|phase| phase.name).collect();
        assert_eq!(names, ["stage", "compute"]);

        let mut want = output(problem.slot(Tensor::Out));
        run(&walks, Level::detect(), inputs(), Outputs { out: values_mut(&mut want) }, &mut []).unwrap();
        let mut workspace = vec![0x5a; copies.workspace_bytes()];
        for level in Level::available() {
            let mut got = output(problem.slot(Tensor::Out));
            let outputs = Outputs { out: values_mut(&mut got) };
            run_parallel(&copies, level, &Threads(3), inputs(), outputs, &mut workspace).unwrap();
            assert_eq!(got.bytes(), want.bytes(), "{dtype} {level}");
        }
        let mut got = output(problem.slot(Tensor::Out));
        by_shares(
            &staging,
            |share, copy| stage_share(&copies, share, inputs(), copy).unwrap(),
            |copy| {
                for share in 0..copies.block_dim() {
                    let range = copies.share_range(1, share);
                    let part = &mut got.bytes_mut()[range.start * dtype.size()..range.end * dtype.size()];
                    let outputs = Outputs { out: ubtile_kernels::ValuesMut::from_bytes(dtype, part).unwrap() };
                    let inputs = Inputs { grad_output: values(copy) };
                    run_share(&copies, Level::detect(), 1, share, inputs, outputs).unwrap();
                }
            },
        );
        assert_eq!(got.bytes(), want.bytes(), "{dtype} by shares");

        let short = workspace.len() - 1 - (ubtile_tiling::ALIGN - 1);
        let outputs = Outputs { out: values_mut(&mut got) };
        let error = run(&copies, Level::detect(), inputs(), outputs, &mut workspace[..short]);
        assert_eq!(error, Err(RunError::Workspace { got: short, want: copies.workspace_bytes() }));
    }
}

#[test]
fn replication_pad() {
    use replication_pad2d_backward::{Inputs, Outputs, run, run_parallel};
    use ubtile_tiling::replication_pad2d_backward::plan;
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
        assert!(walks.staging().is_none() && copies.staging().is_some());
        let mut want = output(problem.slot(Tensor::GradInput));
        run(&walks, Level::detect(), inputs(), Outputs { grad_input: values_mut(&mut want) }, &mut []).unwrap();
        let mut workspace = vec![0x5a; copies.workspace_bytes()];
        let mut got = output(problem.slot(Tensor::GradInput));
        let outputs = Outputs { grad_input: values_mut(&mut got) };
        run_parallel(&copies, Level::detect(), &Threads(2), inputs(), outputs, &mut workspace).unwrap();
        assert_eq!(got.bytes(), want.bytes(), "{dtype}");
    }
}
