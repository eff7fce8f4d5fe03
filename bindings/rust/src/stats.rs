use crate::ffi;
use crate::handle::string_of;

macro_rules! stats {
    ($($field:ident: $type:ty = $from:ident => $value:expr, $what:literal;)*) => {
        /// Counters of an engine, by the names of BitNet.rs.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct DeviceStats {
            $(#[doc = $what] pub $field: $type,)*
            line: String,
        }

        impl DeviceStats {
            pub(crate) fn of(from: &ffi::gpuready_ternary_stats, line: String) -> Self {
                $(let $field = { let $from = from; $value };)*
                Self { $($field,)* line }
            }
        }
    };
}

fn from_zero(value: f64) -> Option<f64> {
    Some(value).filter(|value| *value >= 0.0)
}

stats! {
    total_operations: u64 = it => it.total_operations, "Products and quantisations.";
    quantization_operations: u64 = it => it.quantization_operations, "Quantisations of weights.";
    matmul_operations: u64 = it => it.matmul_operations, "Products.";
    total_time_ms: f64 = it => it.total_time_ms, "Of all operations.";
    quantization_time_ms: f64 = it => it.quantization_time_ms, "Of quantisations.";
    matmul_time_ms: f64 = it => it.matmul_time_ms, "Of products.";
    gpu_operations: u64 = it => it.gpu_operations, "Operations on the GPU.";
    cpu_operations: u64 = it => it.cpu_operations, "Operations on the CPU.";
    failed_operations: u64 = it => it.failed_operations, "Operations that returned an error.";
    fallback_count: u64 = it => it.fallback_count, "Operations that the CPU did for the device.";
    gpu_efficiency: Option<f64> = it => from_zero(it.gpu_efficiency), "GPU operations of all; none before the first.";
    gpu_effective: bool = it => it.gpu_effective != 0, "More than 80% ran on the GPU.";
    device_lost: bool = it => it.device_lost != 0, "The device does not answer any more.";
    memory_used_bytes: u64 = it => it.memory_used_bytes, "Of the host; 0 if the system does not report it.";
    memory_total_bytes: u64 = it => it.memory_total_bytes, "Of the host; 0 if the system does not report it.";
    device_memory_used_bytes: u64 = it => it.device_memory_used_bytes, "Of the device; 0 if unknown.";
    device_memory_total_bytes: u64 = it => it.device_memory_total_bytes, "Of the device; 0 if unknown.";
    device_weights_bytes: u64 = it => it.device_weights_bytes, "Of weights on the device.";
    host_weights_bytes: u64 = it => it.host_weights_bytes, "Of weights in the host's memory.";
    device_errors: u64 = it => it.device_errors, "Of the device.";
    breaker_trips: u64 = it => it.breaker_trips, "Times that the device was put to rest.";
    device_type: String = it => string_of(&it.device_type), "\"cuda\", \"vulkan\" or \"cpu\".";
    device_name: String = it => string_of(&it.device_name), "Of the device in use.";
    target_device: String = it => string_of(&it.target_device), "As it was asked for.";
    last_gpu_error: String = it => string_of(&it.last_gpu_error), "Empty if none happened.";
    last_cpu_error: String = it => string_of(&it.last_cpu_error), "Empty if none happened.";
    last_fallback_reason: String = it => string_of(&it.last_fallback_reason), "Empty if none happened.";
    avg_quantization: Option<f64> = it => from_zero(it.avg_quantization_time_ms), "Milliseconds of a quantisation.";
    avg_matmul: Option<f64> = it => from_zero(it.avg_matmul_time_ms), "Milliseconds of a product.";
}

impl DeviceStats {
    /// One line.
    pub fn summary(&self) -> &str {
        &self.line
    }

    /// More than 80% of the operations ran on the GPU.
    pub fn is_gpu_effective(&self) -> bool {
        self.gpu_effective
    }

    /// Milliseconds of a quantisation; 0 before the first.
    pub fn avg_quantization_time_ms(&self) -> f64 {
        self.avg_quantization.unwrap_or(0.0)
    }

    /// Milliseconds of a product; 0 before the first.
    pub fn avg_matmul_time_ms(&self) -> f64 {
        self.avg_matmul.unwrap_or(0.0)
    }
}
