use crate::pool::Pool;
use crate::values::Values;
use std::sync::Arc;

/// Where products are computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// As GPUREADY_TERNARY_DEVICE says, else [`Device::Auto`].
    #[default]
    Environment,
    /// The best device of this machine.
    Auto,
    /// Loads no driver.
    Cpu,
    /// The CUDA device with this index.
    Cuda(usize),
    /// "cuda", "cuda:GPU-...", "vulkan".
    Named(String),
}

impl Device {
    pub(crate) fn target(&self) -> Option<String> {
        match self {
            Device::Environment => None,
            Device::Auto => Some("auto".into()),
            Device::Cpu => Some("cpu".into()),
            Device::Cuda(index) => Some(format!("cuda:{index}")),
            Device::Named(name) => Some(name.clone()),
        }
    }
}

/// Of an [`Engine`](crate::Engine); the default leaves each choice to the environment and the library.
#[derive(Clone, Default)]
pub struct Options {
    /// Where products are computed.
    pub device: Device,
    /// Return the device's error instead of computing on the CPU.
    pub strict: Option<bool>,
    /// Compute on the CPU whatever `device` is.
    pub force_cpu_fallback: Option<bool>,
    /// Of weights on the device; 0: its free memory.
    pub memory_limit_bytes: u64,
    /// That the weights will take, which the choice of a device considers.
    pub expected_bytes: u64,
    /// Of the CPU's part; 0: as many as this process may use.
    pub threads: u32,
    /// Consecutive errors after which the device rests: 0 is 3, -1 is never.
    pub breaker_errors: i32,
    /// Calls on the CPU after which the device is tried again; 0 is 1000.
    pub breaker_retry_calls: u64,
    /// Time after which the device is tried again; 0 is 30000.
    pub breaker_cool_down_ms: u64,
    /// Of the CPU's part: "scalar", "avx2"; none: the best.
    pub tier: Option<String>,
    /// The caller's threads, in place of the library's own.
    pub pool: Option<Arc<dyn Pool>>,
}

/// The formats of BitNet.rs, by its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantizationType {
    /// Blocks of 32 weights of -1, 0 and +1.
    I2S,
    /// Blocks of 64 weights with four levels.
    TL1,
    /// Blocks of 128 weights with four levels.
    TL2,
}

impl QuantizationType {
    /// The name here.
    pub fn format(self) -> &'static str {
        match self {
            Self::I2S => "i2_s-bitnet-rs",
            Self::TL1 => "tl1-bitnet-rs",
            Self::TL2 => "tl2-bitnet-rs",
        }
    }
}

/// What is added to the f32 product before it is rounded to the output's type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Added<'a> {
    /// One value for each row of the weights.
    pub bias: Option<Values<'a>>,
    /// As many values as the output has.
    pub residual: Residual<'a>,
}

/// What is added to each element of a product.
#[derive(Clone, Copy, Debug, Default)]
pub enum Residual<'a> {
    /// Nothing.
    #[default]
    None,
    /// As many values as the output has.
    Of(Values<'a>),
    /// What the output holds.
    Output,
}
