//! include/gpuready/ternary_c.h and status.h as they are. The project's tests compare them.
#![allow(non_camel_case_types)]
use std::os::raw::{c_char, c_int, c_void};

/// What a later library knows beyond this header: zero in options, and given back in results.
type Later = [u64; 64];

pub type Task = unsafe extern "C" fn(argument: *mut c_void, index: u32);
pub type Run = unsafe extern "C" fn(context: *mut c_void, count: u32, task: Task, argument: *mut c_void);

#[repr(C)]
pub struct gpuready_ternary_options {
    pub size: usize,
    pub target: *const c_char,
    pub strict: i32,
    pub force_cpu_fallback: i32,
    pub memory_limit_bytes: u64,
    pub expected_bytes: u64,
    pub threads: u32,
    pub breaker_errors: i32,
    pub breaker_retry_calls: u64,
    pub breaker_cool_down_ms: u64,
    pub tier: *const c_char,
    pub pool_run: Option<Run>,
    pub pool_context: *mut c_void,
    pub pool_threads: u32,
    pub later: Later,
}

pub const TEXT_MAX: usize = 256;
pub type Text = [c_char; TEXT_MAX];

#[repr(C)]
pub struct gpuready_ternary_stats {
    pub size: usize,
    pub total_operations: u64,
    pub quantization_operations: u64,
    pub matmul_operations: u64,
    pub total_time_ms: f64,
    pub quantization_time_ms: f64,
    pub matmul_time_ms: f64,
    pub gpu_operations: u64,
    pub cpu_operations: u64,
    pub failed_operations: u64,
    pub fallback_count: u64,
    pub gpu_efficiency: f64,
    pub gpu_effective: i32,
    pub device_lost: i32,
    pub breaker: i32,
    pub memory_known: i32,
    pub memory_used_bytes: u64,
    pub memory_total_bytes: u64,
    pub device_memory_known: i32,
    pub device_memory_used_bytes: u64,
    pub device_memory_total_bytes: u64,
    pub device_weights_bytes: u64,
    pub host_weights_bytes: u64,
    pub device_errors: u64,
    pub breaker_trips: u64,
    pub avg_quantization_time_ms: f64,
    pub avg_matmul_time_ms: f64,
    pub device_type: Text,
    pub device_name: Text,
    pub target_device: Text,
    pub last_gpu_error: Text,
    pub last_cpu_error: Text,
    pub last_fallback_reason: Text,
    pub later: Later,
}

pub enum gpuready_ternary_engine {}
pub enum gpuready_ternary_weights {}
pub enum gpuready_ternary_packed {}
pub enum gpuready_ternary_gguf {}

pub type gpuready_status = c_int;
pub type gpuready_ternary_rule = c_int;
pub type gpuready_ternary_type = c_int;
pub type gpuready_ternary_form = c_int;

#[rustfmt::skip]
extern "C" {
    pub fn gpuready_status_text(status: gpuready_status) -> *const c_char;
    pub fn gpuready_last_error() -> *const c_char;
    pub fn gpuready_ternary_engine_create(options: *const gpuready_ternary_options, engine: *mut *mut gpuready_ternary_engine) -> gpuready_status;
    pub fn gpuready_ternary_fallback(engine: *mut gpuready_ternary_engine, index: usize, text: *mut c_char, capacity: usize, count: *mut usize) -> gpuready_status;
    pub fn gpuready_ternary_engine_destroy(engine: *mut gpuready_ternary_engine);
    pub fn gpuready_ternary_encoded_size(format: *const c_char, rows: i64, cols: i64, bytes: *mut usize, scales: *mut usize) -> gpuready_status;
    pub fn gpuready_ternary_quantise(engine: *mut gpuready_ternary_engine, values: *const c_void, value_type: gpuready_ternary_type, count: usize, rows: i64, cols: i64, format: *const c_char, rule: gpuready_ternary_rule, bytes: *mut c_void, byte_count: usize, scales: *mut f32, scale_count: usize) -> gpuready_status;
    pub fn gpuready_ternary_quantise_f32(engine: *mut gpuready_ternary_engine, values: *const f32, count: usize, rows: i64, cols: i64, format: *const c_char, rule: gpuready_ternary_rule, bytes: *mut c_void, byte_count: usize, scales: *mut f32, scale_count: usize) -> gpuready_status;
    pub fn gpuready_ternary_weights_from_values(engine: *mut gpuready_ternary_engine, values: *const c_void, value_type: gpuready_ternary_type, count: usize, rows: i64, cols: i64, format: *const c_char, rule: gpuready_ternary_rule, weights: *mut *mut gpuready_ternary_weights) -> gpuready_status;
    pub fn gpuready_ternary_weights_from_f32(engine: *mut gpuready_ternary_engine, values: *const f32, count: usize, rows: i64, cols: i64, format: *const c_char, rule: gpuready_ternary_rule, weights: *mut *mut gpuready_ternary_weights) -> gpuready_status;
    pub fn gpuready_ternary_weights_from_bytes(engine: *mut gpuready_ternary_engine, format: *const c_char, rows: i64, cols: i64, bytes: *const c_void, byte_count: usize, scales: *const f32, scale_count: usize, weights: *mut *mut gpuready_ternary_weights) -> gpuready_status;
    pub fn gpuready_ternary_weights_from_codes(engine: *mut gpuready_ternary_engine, codes: *const i8, code_count: usize, rows: i64, cols: i64, scales: *const c_void, scale_type: gpuready_ternary_type, scale_count: usize, group: i64, weights: *mut *mut gpuready_ternary_weights) -> gpuready_status;
    pub fn gpuready_ternary_weights_destroy(weights: *mut gpuready_ternary_weights);
    pub fn gpuready_ternary_weights_info(weights: *const gpuready_ternary_weights, rows: *mut i64, cols: *mut i64, on_device: *mut i32) -> gpuready_status;
    pub fn gpuready_ternary_weights_fallback(weights: *const gpuready_ternary_weights, text: *mut c_char, capacity: usize) -> gpuready_status;
    pub fn gpuready_ternary_multiply(engine: *mut gpuready_ternary_engine, weights: *const gpuready_ternary_weights, activations: *const c_void, value_type: gpuready_ternary_type, activation_count: usize, m: i64, out: *mut f32, out_count: usize) -> gpuready_status;
    pub fn gpuready_ternary_multiply_f32(engine: *mut gpuready_ternary_engine, weights: *const gpuready_ternary_weights, activations: *const f32, activation_count: usize, m: i64, out: *mut f32, out_count: usize) -> gpuready_status;
    pub fn gpuready_ternary_multiply_add(engine: *mut gpuready_ternary_engine, weights: *const gpuready_ternary_weights, activations: *const c_void, value_type: gpuready_ternary_type, activation_count: usize, m: i64, bias: *const c_void, bias_type: gpuready_ternary_type, residual: *const c_void, residual_type: gpuready_ternary_type, out: *mut c_void, out_type: gpuready_ternary_type, out_bytes: usize) -> gpuready_status;
    pub fn gpuready_ternary_multiply_i32(engine: *mut gpuready_ternary_engine, weights: *const gpuready_ternary_weights, activations: *const i8, activation_count: usize, m: i64, out: *mut i32, out_count: usize) -> gpuready_status;
    pub fn gpuready_ternary_pack(format: *const c_char, rows: i64, cols: i64, bytes: *const c_void, byte_count: usize, scales: *const f32, scale_count: usize, form: gpuready_ternary_form, threads: u32, packed: *mut *mut gpuready_ternary_packed) -> gpuready_status;
    pub fn gpuready_ternary_pack_values(values: *const c_void, value_type: gpuready_ternary_type, count: usize, rows: i64, cols: i64, format: *const c_char, rule: gpuready_ternary_rule, form: gpuready_ternary_form, threads: u32, packed: *mut *mut gpuready_ternary_packed) -> gpuready_status;
    pub fn gpuready_ternary_packed_destroy(packed: *mut gpuready_ternary_packed);
    pub fn gpuready_ternary_packed_info(packed: *const gpuready_ternary_packed, rows: *mut i64, cols: *mut i64, bytes: *mut usize, saved_bytes: *mut usize) -> gpuready_status;
    pub fn gpuready_ternary_packed_save(packed: *const gpuready_ternary_packed, to: *mut c_void, saved_bytes: usize) -> gpuready_status;
    pub fn gpuready_ternary_packed_view(saved: *const c_void, saved_bytes: usize, trust: i32, threads: u32, packed: *mut *mut gpuready_ternary_packed) -> gpuready_status;
    pub fn gpuready_ternary_weights_from_packed(engine: *mut gpuready_ternary_engine, packed: *const gpuready_ternary_packed, weights: *mut *mut gpuready_ternary_weights) -> gpuready_status;
    pub fn gpuready_ternary_gguf_read(bytes: *const c_void, size: usize, file: *mut *mut gpuready_ternary_gguf) -> gpuready_status;
    pub fn gpuready_ternary_gguf_destroy(file: *mut gpuready_ternary_gguf);
    pub fn gpuready_ternary_gguf_count(file: *const gpuready_ternary_gguf, tensors: *mut usize) -> gpuready_status;
    pub fn gpuready_ternary_gguf_find(file: *const gpuready_ternary_gguf, name: *const c_char, index: *mut usize) -> gpuready_status;
    pub fn gpuready_ternary_gguf_tensor(file: *const gpuready_ternary_gguf, index: usize, name: *mut c_char, capacity: usize, rows: *mut i64, cols: *mut i64, value_type: *mut u32) -> gpuready_status;
    pub fn gpuready_ternary_gguf_pack(file: *const gpuready_ternary_gguf, index: usize, layout: *const c_char, form: gpuready_ternary_form, threads: u32, packed: *mut *mut gpuready_ternary_packed) -> gpuready_status;
    pub fn gpuready_ternary_get_stats(engine: *mut gpuready_ternary_engine, stats: *mut gpuready_ternary_stats) -> gpuready_status;
    pub fn gpuready_ternary_active_kernel(engine: *mut gpuready_ternary_engine, text: *mut c_char, capacity: usize) -> gpuready_status;
    pub fn gpuready_ternary_summary(engine: *mut gpuready_ternary_engine, text: *mut c_char, capacity: usize) -> gpuready_status;
}
