//! Copies of inputs of Im2colBackward.

use ubtile_kernels::im2col_backward::{Inputs, Outputs, run, run_parallel, run_share, stage_share};
use ubtile_kernels::{Level, RunError};
use ubtile_testkit::problems::{Im2col, im2col_inputs, output};
use ubtile_testkit::{Fill, Rng};
use ubtile_tiling::im2col_backward::plan;
use ubtile_tiling::{ALIGN, Dtype, PlanOptions, TargetSpec, Tensor};

use crate::common::{Threads, values, values_mut};
use crate::{FAR, LIMITED, copy_by_shares, elements};

#[test]
fn copies_change_no_bit() {
    for (dtype, inputs) in
        [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64].into_iter().flat_map(|d| FAR.map(|l| (d, l)))
    {
        // More than a block of rows and of columns, multiples of neither; windows that do not overlap, which kernels do not walk.
        let shape = Im2col { dtype, out_dtype: dtype, n: 2, c: 5, h: 14, w: 74, ..Default::default() };
        let sizes = Im2col { kernel: [2, 2], stride: [2, 2], inputs, ..shape };
        let problem = sizes.problem();
        let data = im2col_inputs(&problem, Fill::Specials, &mut Rng::new(3));
        let inputs = || Inputs { grad_output: values(&data) };
        let target = TargetSpec::host(3);
        let (walks, copies) =
            (plan(&problem, &target, &LIMITED).unwrap(), plan(&problem, &target, &PlanOptions::default()).unwrap());
        assert_eq!(walks.workspace_bytes(), 0);
        assert!(walks.stagings().next().is_none() && walks.prices().any(|price| price.paid > price.unlimited));
        let staging = copies.stagings().next().expect("the copy pays");
        assert!(copies.prices().all(|price| price.paid == price.unlimited));
        let names: Vec<_> = copies.phases().map(|phase| phase.name).collect();
        assert_eq!(names, ["stage_grad_output", "compute"]);

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
        let copy = copy_by_shares(&staging, |share, copy| stage_share(&copies, 0, share, inputs(), copy).unwrap());
        for share in 0..copies.block_dim() {
            let outputs = Outputs { out: elements(&mut got, &copies.share_range(1, share)) };
            let inputs = Inputs { grad_output: values(&copy) };
            run_share(&copies, Level::detect(), 1, share, inputs, outputs).unwrap();
        }
        assert_eq!(got.bytes(), want.bytes(), "{dtype} by shares");
        let of_copy = run_share(&copies, Level::detect(), 0, 0, inputs(), Outputs { out: values_mut(&mut got) });
        assert_eq!(of_copy, Err(RunError::Copy { phase: 0, copies: 1 }));
        let no_copy = stage_share(&copies, 1, 0, inputs(), values_mut(&mut got));
        assert_eq!(no_copy, Err(RunError::NoCopy { phase: 1, copies: 1 }));
        for (phase, share, shares) in [(1, copies.block_dim(), copies.block_dim()), (2, 0, 0)] {
            let inputs = Inputs { grad_output: values(&copy) };
            let no_share =
                run_share(&copies, Level::detect(), phase, share, inputs, Outputs { out: values_mut(&mut got) });
            assert_eq!(no_share, Err(RunError::NoShare { phase, share, shares }));
        }
        let no_share = stage_share(&copies, 0, staging.shares, inputs(), values_mut(&mut got));
        assert_eq!(no_share, Err(RunError::NoShare { phase: 0, share: staging.shares, shares: staging.shares }));

        let short = workspace.len() - 1 - (ALIGN - 1);
        let outputs = Outputs { out: values_mut(&mut got) };
        let error = run(&copies, Level::detect(), inputs(), outputs, &mut workspace[..short]);
        assert_eq!(error, Err(RunError::Workspace { got: short, want: copies.workspace_bytes() }));
    }
}
