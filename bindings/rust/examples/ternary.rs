// Packs 3 x 256 weights, saves them and views them in place, and multiplies one row of activations on threads of its own.
use gpuready_ternary::{Device, Engine, Options, PackOptions, Packed, Pool, Result, Rule};
use std::sync::Arc;

// A real program would have a pool.
struct Threads;

impl Pool for Threads {
    fn threads(&self) -> u32 {
        2
    }

    fn run(&self, count: u32, task: &(dyn Fn() + Sync)) {
        std::thread::scope(|scope| {
            for _ in 0..count {
                scope.spawn(task);
            }
        });
    }
}

fn main() -> Result<()> {
    const ROWS: usize = 3;
    const COLS: usize = 256;
    let values: Vec<f32> = (0..ROWS * COLS).map(|i| 0.5 * ((i % 3) as f32 - 1.0)).collect();
    let activations: Vec<i8> = (0..COLS).map(|i| (i / 2) as i8).collect();
    let pool: Option<Arc<dyn Pool>> = Some(Arc::new(Threads));
    let engine = Engine::with(&Options { device: Device::Cpu, pool, ..Options::default() })?;

    let options = PackOptions::default();
    let saved = Packed::from_values(&values, ROWS, COLS, "tq2_0", Rule::OfFormat, options)?.save()?;
    let weights = engine.load(&Packed::view(&saved, 0)?)?;
    let mut out = [0; ROWS];
    engine.multiply_i32(&weights, &activations, 1, &mut out)?;
    println!("product: {} {} {}, from {} saved bytes", out[0], out[1], out[2], saved.len());
    println!("half a header: {}", Packed::view(&saved[..63], 0).unwrap_err());
    Ok(())
}
