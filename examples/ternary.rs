// Ternary weights from Rust through the C interface: packs 3 x 256 weights, saves them and views them
// in place, and multiplies one row of activations on threads of its own.
// rustc -L LIBDIR ternary.rs, with libgpuready.so in LIBDIR
use std::ffi::{c_char, c_void, CStr, CString};
use std::ptr::{null, null_mut};

#[repr(C)]
struct Options {
    size: usize,
    target: *const c_char,
    strict: i32,
    force_cpu_fallback: i32,
    memory_limit_bytes: u64,
    expected_bytes: u64,
    threads: u32,
    breaker_errors: i32,
    breaker_retry_calls: u64,
    breaker_cool_down_ms: u64,
    tier: *const c_char,
    pool_run: Option<
        unsafe extern "C" fn(*mut c_void, u32, unsafe extern "C" fn(*mut c_void, u32), *mut c_void),
    >,
    pool_context: *mut c_void,
    pool_threads: u32,
}

#[link(name = "gpuready")]
extern "C" {
    fn gpuready_last_error() -> *const c_char;
    fn gpuready_ternary_engine_create(options: *const Options, engine: *mut *mut c_void) -> i32;
    fn gpuready_ternary_engine_destroy(engine: *mut c_void);
    #[rustfmt::skip]
    fn gpuready_ternary_pack_values(
        values: *const c_void, value_type: i32, count: usize, rows: i64, cols: i64,
        format: *const c_char, rule: i32, form: i32, threads: u32, packed: *mut *mut c_void) -> i32;
    #[rustfmt::skip]
    fn gpuready_ternary_packed_info(
        packed: *const c_void, rows: *mut i64, cols: *mut i64, bytes: *mut usize,
        saved_bytes: *mut usize) -> i32;
    fn gpuready_ternary_packed_save(packed: *const c_void, to: *mut c_void, bytes: usize) -> i32;
    #[rustfmt::skip]
    fn gpuready_ternary_packed_view(
        saved: *const c_void, bytes: usize, trust: i32, threads: u32, packed: *mut *mut c_void) -> i32;
    fn gpuready_ternary_packed_destroy(packed: *mut c_void);
    #[rustfmt::skip]
    fn gpuready_ternary_weights_from_packed(
        engine: *mut c_void, packed: *const c_void, weights: *mut *mut c_void) -> i32;
    fn gpuready_ternary_weights_destroy(weights: *mut c_void);
    #[rustfmt::skip]
    fn gpuready_ternary_multiply_i32(
        engine: *mut c_void, weights: *const c_void, activations: *const i8, count: usize, m: i64,
        out: *mut i32, out_count: usize) -> i32;
}

fn check(status: i32) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    let text = unsafe { CStr::from_ptr(gpuready_last_error()) };
    Err(format!("status {}: {}", status, text.to_string_lossy()))
}

// The library's tasks on threads of this program; a real one would have a pool.
struct Argument(*mut c_void);
unsafe impl Sync for Argument {}
unsafe extern "C" fn run(
    _pool: *mut c_void,
    count: u32,
    task: unsafe extern "C" fn(*mut c_void, u32),
    argument: *mut c_void,
) {
    let argument = &Argument(argument);
    std::thread::scope(|scope| {
        for index in 0..count {
            scope.spawn(move || unsafe { task(argument.0, index) });
        }
    });
}

// A saved form begins at a multiple of 64, as a mapped file does.
#[repr(align(64))]
#[derive(Clone)]
#[allow(dead_code)]
struct Line([u8; 64]);

fn main() -> Result<(), String> {
    const ROWS: usize = 3;
    const COLS: usize = 256;
    let values: Vec<f32> = (0..ROWS * COLS).map(|i| 0.5 * ((i % 3) as f32 - 1.0)).collect();
    let activations: Vec<i8> = (0..COLS).map(|i| (i / 2) as i8).collect();
    let mut out = [0i32; ROWS];
    let (cpu, format) = (CString::new("cpu").unwrap(), CString::new("tq2_0").unwrap());
    let options = Options {
        size: std::mem::size_of::<Options>(),
        target: cpu.as_ptr(),
        strict: 0,
        force_cpu_fallback: 0,
        memory_limit_bytes: 0,
        expected_bytes: 0,
        threads: 0,
        breaker_errors: 0,
        breaker_retry_calls: 0,
        breaker_cool_down_ms: 0,
        tier: null(),
        pool_run: Some(run),
        pool_context: null_mut(),
        pool_threads: 2,
    };
    let (mut engine, mut packed) = (null_mut(), null_mut());
    let (mut viewed, mut weights) = (null_mut(), null_mut());
    let mut bytes = 0;
    unsafe {
        check(gpuready_ternary_engine_create(&options, &mut engine))?;
        let from = values.as_ptr() as *const c_void;
        let (rows, cols) = (ROWS as i64, COLS as i64);
        #[rustfmt::skip]
        check(gpuready_ternary_pack_values(from, 0, values.len(), rows, cols, format.as_ptr(), 0, 0, 0, &mut packed))?;
        let none = null_mut();
        check(gpuready_ternary_packed_info(packed, none, none, null_mut(), &mut bytes))?;
        let mut saved = vec![Line([0; 64]); (bytes + 63) / 64];
        check(gpuready_ternary_packed_save(packed, saved.as_mut_ptr() as *mut c_void, bytes))?;
        gpuready_ternary_packed_destroy(packed);
        check(gpuready_ternary_packed_view(saved.as_ptr() as *const c_void, bytes, 0, 0, &mut viewed))?;
        check(gpuready_ternary_weights_from_packed(engine, viewed, &mut weights))?;
        #[rustfmt::skip]
        check(gpuready_ternary_multiply_i32(engine, weights, activations.as_ptr(), COLS, 1, out.as_mut_ptr(), ROWS))?;
        println!("product: {} {} {}, from {} saved bytes", out[0], out[1], out[2], bytes);
        let damaged = check(gpuready_ternary_packed_view(saved.as_ptr() as *const c_void, 63, 0, 0, &mut packed));
        println!("half a header: {}", damaged.unwrap_err());
        gpuready_ternary_weights_destroy(weights);
        gpuready_ternary_packed_destroy(viewed);
        gpuready_ternary_engine_destroy(engine);
    }
    Ok(())
}
