#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod engine;
mod error;
#[allow(missing_docs)]
pub mod ffi;
mod gguf;
mod handle;
mod options;
mod pool;
mod stats;
mod values;
mod weights;

pub use engine::{DeviceAwareQuantizer, Engine};
pub use error::{Error, ErrorKind, Result};
pub use gguf::{Gguf, Tensor};
pub use options::{Added, Device, Options, QuantizationType, Residual};
pub use pool::Pool;
pub use stats::DeviceStats;
pub use values::{Bf16, Values, ValuesMut, F16};
pub use weights::{encoded_size, Form, PackOptions, Packed, Rule, Saved, Weights};
