use crate::error::{check, Result};
use crate::ffi;
use crate::handle::{c_text, made, whole_text};
use crate::options::{Added, Device, Options, QuantizationType, Residual};
use crate::pool::{run, Pool};
use crate::stats::DeviceStats;
use crate::values::{Values, ValuesMut};
use crate::weights::{wrong_length, Packed, Rule, Weights};
use std::mem::{size_of, zeroed};
use std::os::raw::c_void;
use std::ptr::{null, null_mut, NonNull};
use std::sync::Arc;

/// Loads weights once and multiplies on the best device; what the device cannot do the CPU does, with the same bits.
/// Any thread may call.
pub struct Engine {
    handle: NonNull<ffi::gpuready_ternary_engine>,
    // The library has its address.
    _pool: Option<Box<Arc<dyn Pool>>>,
}

/// The name in BitNet.rs.
pub type DeviceAwareQuantizer = Engine;

unsafe impl Send for Engine {}
unsafe impl Sync for Engine {}
impl Drop for Engine {
    fn drop(&mut self) {
        unsafe { ffi::gpuready_ternary_engine_destroy(self.handle.as_ptr()) }
    }
}

fn choice(value: Option<bool>) -> i32 {
    value.map_or(0, |yes| if yes { 1 } else { -1 })
}

impl Engine {
    /// On a device, with all other choices left to the environment.
    pub fn new(device: Device) -> Result<Self> {
        Self::with(&Options { device, ..Options::default() })
    }

    /// With every choice.
    pub fn with(options: &Options) -> Result<Self> {
        let target = options.device.target().map(|name| c_text("device", &name)).transpose()?;
        let tier = options.tier.as_ref().map(|name| c_text("tier", name)).transpose()?;
        let pool = options.pool.clone().map(Box::new);
        let mut given: ffi::gpuready_ternary_options = unsafe { zeroed() };
        given.size = size_of::<ffi::gpuready_ternary_options>();
        given.target = target.as_ref().map_or(null(), |text| text.as_ptr());
        given.strict = choice(options.strict);
        given.force_cpu_fallback = choice(options.force_cpu_fallback);
        given.memory_limit_bytes = options.memory_limit_bytes;
        given.expected_bytes = options.expected_bytes;
        given.threads = options.threads;
        given.breaker_errors = options.breaker_errors;
        given.breaker_retry_calls = options.breaker_retry_calls;
        given.breaker_cool_down_ms = options.breaker_cool_down_ms;
        given.tier = tier.as_ref().map_or(null(), |text| text.as_ptr());
        if let Some(pool) = &pool {
            given.pool_run = Some(run);
            given.pool_context = &**pool as *const Arc<dyn Pool> as *mut c_void;
            given.pool_threads = pool.threads();
        }
        let handle = made(|to| unsafe { ffi::gpuready_ternary_engine_create(&given, to) })?;
        Ok(Self { handle, _pool: pool })
    }

    fn at(&self) -> *mut ffi::gpuready_ternary_engine {
        self.handle.as_ptr()
    }

    /// Why a device or tier that was asked for is not used.
    pub fn fallbacks(&self) -> Result<Vec<String>> {
        let mut count = 0;
        check(unsafe { ffi::gpuready_ternary_fallback(self.at(), 0, null_mut(), 0, &mut count) })?;
        (0..count)
            .map(|index| {
                whole_text(|text, size| unsafe { ffi::gpuready_ternary_fallback(self.at(), index, text, size, &mut 0) })
            })
            .collect()
    }

    /// Quantises values into `output` and `scales`, which have exactly the sizes of
    /// [`encoded_size`](crate::encoded_size); formats with their scales inside take no `scales`.
    #[allow(clippy::too_many_arguments)]
    pub fn quantise<'v>(
        &self,
        values: impl Into<Values<'v>>,
        rows: usize,
        cols: usize,
        format: &str,
        rule: Rule,
        output: &mut [u8],
        scales: &mut [f32],
    ) -> Result<()> {
        let (format, (from, kind, count)) = (c_text("format", format)?, values.into().parts());
        let to = if scales.is_empty() { null_mut() } else { scales.as_mut_ptr() };
        check(unsafe {
            ffi::gpuready_ternary_quantise(
                self.at(),
                from,
                kind,
                count,
                rows as i64,
                cols as i64,
                format.as_ptr(),
                rule as i32,
                output.as_mut_ptr().cast(),
                output.len(),
                to,
                scales.len(),
            )
        })
    }

    /// The call of BitNet.rs: one row of values in one of its formats.
    pub fn quantize(&self, input: &[f32], output: &mut [u8], scales: &mut [f32], to: QuantizationType) -> Result<()> {
        self.quantise(input, 1, input.len(), to.format(), Rule::OfFormat, output, scales)
    }

    /// Loads packed weights, which the engine shares.
    pub fn load<'a>(&self, packed: &Packed<'a>) -> Result<Weights<'a>> {
        made(|to| unsafe { ffi::gpuready_ternary_weights_from_packed(self.at(), packed.handle.as_ptr(), to) })
            .map(Weights::of)
    }

    /// Quantises rows x cols values and loads them.
    pub fn load_values<'v>(
        &self,
        values: impl Into<Values<'v>>,
        rows: usize,
        cols: usize,
        format: &str,
        rule: Rule,
    ) -> Result<Weights<'static>> {
        let (format, (from, kind, count)) = (c_text("format", format)?, values.into().parts());
        made(|to| unsafe {
            ffi::gpuready_ternary_weights_from_values(
                self.at(),
                from,
                kind,
                count,
                rows as i64,
                cols as i64,
                format.as_ptr(),
                rule as i32,
                to,
            )
        })
        .map(Weights::of)
    }

    /// Loads bytes of a format, and the scales if the format keeps them beside its bytes.
    pub fn load_bytes(
        &self,
        format: &str,
        rows: usize,
        cols: usize,
        bytes: &[u8],
        scales: &[f32],
    ) -> Result<Weights<'static>> {
        let format = c_text("format", format)?;
        let from = if scales.is_empty() { null() } else { scales.as_ptr() };
        made(|to| unsafe {
            ffi::gpuready_ternary_weights_from_bytes(
                self.at(),
                format.as_ptr(),
                rows as i64,
                cols as i64,
                bytes.as_ptr().cast(),
                bytes.len(),
                from,
                scales.len(),
                to,
            )
        })
        .map(Weights::of)
    }

    /// Loads rows x cols codes of -1, 0 and +1 with one scale a row (`group` 0), or one for each `group` weights of a
    /// row (32, 64, 128 or 256; the last may have fewer).
    pub fn load_codes<'v>(
        &self,
        codes: &[i8],
        rows: usize,
        cols: usize,
        scales: impl Into<Values<'v>>,
        group: usize,
    ) -> Result<Weights<'static>> {
        let (from, kind, count) = scales.into().parts();
        made(|to| unsafe {
            ffi::gpuready_ternary_weights_from_codes(
                self.at(),
                codes.as_ptr(),
                codes.len(),
                rows as i64,
                cols as i64,
                from,
                kind,
                count,
                group as i64,
                to,
            )
        })
        .map(Weights::of)
    }

    /// `out` (m x N) from activations (m x K), which are quantised to int8 a row each.
    pub fn multiply<'v>(
        &self,
        weights: &Weights<'_>,
        activations: impl Into<Values<'v>>,
        m: usize,
        out: &mut [f32],
    ) -> Result<()> {
        let (from, kind, count) = activations.into().parts();
        check(unsafe {
            ffi::gpuready_ternary_multiply(
                self.at(),
                weights.handle.as_ptr(),
                from,
                kind,
                count,
                m as i64,
                out.as_mut_ptr(),
                out.len(),
            )
        })
    }

    /// The same into any type, with a bias and a residual.
    pub fn multiply_add<'v, 'o>(
        &self,
        weights: &Weights<'_>,
        activations: impl Into<Values<'v>>,
        m: usize,
        added: Added<'_>,
        out: impl Into<ValuesMut<'o>>,
    ) -> Result<()> {
        let ((from, kind, count), mut out) = (activations.into().parts(), out.into());
        let (to, to_kind, to_bytes) = out.parts();
        let rows = weights.rows();
        let operand = |what, values: Option<Values<'_>>, wanted: Option<usize>| match values {
            None => Ok((null(), 0)),
            Some(values) => match values.parts() {
                (at, kind, length) if Some(length) == wanted => Ok((at, kind)),
                (_, _, length) => Err(wrong_length(what, length, wanted.unwrap_or(usize::MAX))),
            },
        };
        let (bias, bias_kind) = operand("the bias", added.bias, Some(rows))?;
        let (residual, residual_kind) = match added.residual {
            Residual::Output => (to as *const c_void, to_kind),
            Residual::None => (null(), 0),
            Residual::Of(values) => operand("the residual", Some(values), m.checked_mul(rows))?,
        };
        check(unsafe {
            ffi::gpuready_ternary_multiply_add(
                self.at(),
                weights.handle.as_ptr(),
                from,
                kind,
                count,
                m as i64,
                bias,
                bias_kind,
                residual,
                residual_kind,
                to,
                to_kind,
                to_bytes,
            )
        })
    }

    /// Exact sums of codes: out\[m\]\[n\] is the sum over k of w\[n\]\[k\] * activations\[m\]\[k\].
    pub fn multiply_i32(&self, weights: &Weights<'_>, activations: &[i8], m: usize, out: &mut [i32]) -> Result<()> {
        check(unsafe {
            ffi::gpuready_ternary_multiply_i32(
                self.at(),
                weights.handle.as_ptr(),
                activations.as_ptr(),
                activations.len(),
                m as i64,
                out.as_mut_ptr(),
                out.len(),
            )
        })
    }

    /// The kernel of the latest product: "avx512-vnni". Empty before the first.
    pub fn active_provider(&self) -> String {
        whole_text(|text, size| unsafe { ffi::gpuready_ternary_active_kernel(self.at(), text, size) })
            .unwrap_or_default()
    }

    /// What was counted. None only if the library fails.
    pub fn get_stats(&self) -> Option<DeviceStats> {
        let mut from: ffi::gpuready_ternary_stats = unsafe { zeroed() };
        from.size = size_of::<ffi::gpuready_ternary_stats>();
        check(unsafe { ffi::gpuready_ternary_get_stats(self.at(), &mut from) }).ok()?;
        let line = whole_text(|text, size| unsafe { ffi::gpuready_ternary_summary(self.at(), text, size) });
        Some(DeviceStats::of(&from, line.ok()?))
    }
}
