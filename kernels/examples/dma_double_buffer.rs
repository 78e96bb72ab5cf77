//! Two sets of boxes in fast memory: while a tile is computed in one, the next one's input arrives in the other.
//!
//! Here a thread is the DMA engine and vectors that travel between it and the processor are the boxes, so whoever holds a box is
//! the only one who can touch it, as on the real machine. On hardware, `send` starts a transfer and `recv` waits for its
//! interrupt.
//!
//!     cargo run -p ubtile-kernels --example dma_double_buffer

use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};

use ubtile_kernels::replication_pad2d_backward::{Inputs, Outputs, run, run_tile};
use ubtile_kernels::{Level, Values, ValuesMut};
use ubtile_tiling::replication_pad2d_backward::{Desc, Tile, check, plan};
use ubtile_tiling::{Dtype, Edition, PlanOptions, TargetSpec, TensorDesc};

/// What one tile needs in fast memory.
struct Boxes {
    source: Vec<f32>,
    dest: Vec<f32>,
}

/// What the engine is told.
enum Transfer {
    /// Fetch a tile's input into these boxes.
    Fetch(Tile, Boxes),
    /// Bring a tile's output out of them.
    Store(Tile, Boxes),
}

/// The processor's end of the engine.
struct Dma {
    orders: Sender<Transfer>,
    /// Boxes whose input is there.
    fetched: Receiver<Boxes>,
    /// Boxes whose output is where it belongs.
    stored: Receiver<Boxes>,
}

fn main() -> Result<(), Box<dyn Error>> {
    // An image of 4 planes whose frame of 3 pixels folds back. In fast memory there is room for 2 KiB a tile.
    let (planes, [h, w], frame) = (4, [24, 40], 3);
    let (big_h, big_w) = (h + 2 * frame, w + 2 * frame);
    let of = |shape: &[usize]| TensorDesc::contiguous(Dtype::F32, shape);
    let desc = Desc {
        grad_output: of(&[1, planes, big_h, big_w])?,
        self_tensor: of(&[1, planes, h, w])?,
        grad_input: of(&[1, planes, h, w])?,
        padding: &[frame as i64; 4],
    };
    let problem = check(&desc, None, Edition::Any)?;
    let target = TargetSpec::from_name("cortex-m4").ok_or("no such target")?;
    let options = PlanOptions { workspace_limit: Some(0), local_bytes: Some(2048) };
    let plan = plan(&problem, &target, &options)?;
    let tiles: Vec<Tile> = plan.tiles(0, 0).collect();
    let most = |cells: fn(&Tile) -> usize| tiles.iter().map(cells).max().unwrap_or(0);
    let (source_cells, dest_cells, sums_cells) = (most(Tile::input_cells), most(Tile::cells), most(Tile::sums));

    // Slow memory, which only the engine touches.
    let grad_output: Vec<f32> = (0..planes * big_h * big_w).map(|i| (i % 97) as f32 / 8.0).collect();
    let mut grad_input = vec![0f32; planes * h * w];

    let (orders, ordered) = channel();
    let (on_fetched, fetched) = channel();
    let (on_stored, stored) = channel();
    let dma = Dma { orders, fetched, stored };
    let mut sums = vec![0f32; sums_cells];
    std::thread::scope(|scope| {
        let sides = (grad_output.as_slice(), grad_input.as_mut_slice());
        scope.spawn(move || engine(ordered, [on_fetched, on_stored], sides, [big_h, big_w], [h, w]));
        let boxes = || Boxes { source: vec![0.0; source_cells], dest: vec![0.0; dest_cells] };
        // The engine stops when nobody can order any more.
        let dma = dma;
        compute(&dma, &tiles, [boxes(), boxes()], |tile, boxes| {
            let inputs = Inputs { grad_output: Values::F32(&boxes.source) };
            let outputs = Outputs { grad_input: ValuesMut::F32(&mut boxes.dest) };
            run_tile(&plan, Level::scalar(), tile, inputs, outputs, ValuesMut::F32(&mut sums))
        })
    })?;

    // The same bits as in one go.
    let mut whole = vec![0f32; planes * h * w];
    let (inputs, outputs) =
        (Inputs { grad_output: Values::F32(&grad_output) }, Outputs { grad_input: ValuesMut::F32(&mut whole) });
    run(&plan, Level::scalar(), inputs, outputs, &mut [])?;
    if whole != grad_input {
        return Err("the tiles' result differs from the run's".into());
    }
    println!("{} tiles of up to {} bytes, two at a time: the bits of one run", tiles.len(), plan.target().local_bytes);
    Ok(())
}

/// The processor: while it computes a tile in one set of boxes, the input of the next one arrives in the other.
fn compute<E: Error + 'static>(
    dma: &Dma,
    tiles: &[Tile],
    [first, second]: [Boxes; 2],
    mut run_tile: impl FnMut(&Tile, &mut Boxes) -> Result<(), E>,
) -> Result<(), Box<dyn Error>> {
    let mut left = tiles.iter();
    let mut free = Some(second);
    if let Some(tile) = left.next() {
        dma.orders.send(Transfer::Fetch(*tile, first))?;
    }
    for tile in tiles {
        let mut boxes = dma.fetched.recv()?;
        if let Some(next) = left.next() {
            // The other boxes: never used, or as soon as their output has left them.
            let other = free.take().map_or_else(|| dma.stored.recv(), Ok)?;
            dma.orders.send(Transfer::Fetch(*next, other))?;
        }
        run_tile(tile, &mut boxes)?;
        dma.orders.send(Transfer::Store(*tile, boxes))?;
    }
    Ok(())
}

/// The engine: moves boxes, row by row.
fn engine(
    orders: Receiver<Transfer>,
    [on_fetched, on_stored]: [Sender<Boxes>; 2],
    (grad_output, grad_input): (&[f32], &mut [f32]),
    [big_h, big_w]: [usize; 2],
    [h, w]: [usize; 2],
) {
    let rows = |planes: [usize; 2], rows: [usize; 2], height: usize| {
        (planes[0]..planes[1]).flat_map(move |plane| (rows[0]..rows[1]).map(move |y| plane * height + y))
    };
    for order in orders {
        match order {
            Transfer::Fetch(tile, mut boxes) => {
                let [x0, x1] = tile.source_columns;
                let to = boxes.source.chunks_exact_mut((x1 - x0).max(1));
                for (to, row) in to.zip(rows(tile.planes, tile.source_rows, big_h)) {
                    to.copy_from_slice(&grad_output[row * big_w + x0..row * big_w + x1]);
                }
                // Nobody waits any more when the processor has given up.
                let _ = on_fetched.send(boxes);
            }
            Transfer::Store(tile, boxes) => {
                let [x0, x1] = tile.columns;
                // A tile that is not the last of its sums has no output yet.
                let from = boxes.dest.chunks_exact((x1 - x0).max(1)).take(if tile.last { usize::MAX } else { 0 });
                for (from, row) in from.zip(rows(tile.planes, tile.rows, h)) {
                    grad_input[row * w + x0..row * w + x1].copy_from_slice(from);
                }
                let _ = on_stored.send(boxes);
            }
        }
    }
}
