use crate::error::{check, Error, ErrorKind, Result};
use crate::ffi;
use crate::handle::{c_text, handle, made, whole_text};
use crate::values::Values;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::{null, NonNull};

/// How values become codes of -1, 0 and +1 and scales.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// As the format's own tool does.
    #[default]
    OfFormat,
    /// BitNet b1.58: the scale is the mean of the absolute values.
    Absmean,
}

/// How packed weights lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Two bits a weight.
    #[default]
    TwoBit,
    /// Three weights in five bits.
    ThreeTrits,
}

/// How to pack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackOptions {
    /// How packed weights lie in memory.
    pub form: Form,
    /// Threads for the call; 0: as many as this process has CPUs. The bytes do not depend on it.
    pub threads: u32,
}

/// Weights, rows x cols, as the kernels read them. They borrow the bytes of [`Packed::view`], and own all others.
#[derive(Debug)]
pub struct Packed<'a> {
    pub(crate) handle: NonNull<ffi::gpuready_ternary_packed>,
    data: PhantomData<&'a [u8]>,
}
handle!(Packed, gpuready_ternary_packed, gpuready_ternary_packed_destroy);

#[derive(Clone, Copy)]
struct Info {
    rows: i64,
    cols: i64,
    bytes: usize,
    saved_bytes: usize,
}

impl Packed<'static> {
    /// From bytes of a format ("i2_s-x86", "tq2_0"), and the scales if the format keeps them beside its bytes.
    pub fn from_bytes(
        format: &str,
        rows: usize,
        cols: usize,
        bytes: &[u8],
        scales: &[f32],
        options: PackOptions,
    ) -> Result<Self> {
        let format = c_text("format", format)?;
        let scale_pointer = if scales.is_empty() { null() } else { scales.as_ptr() };
        made(|to| unsafe {
            ffi::gpuready_ternary_pack(
                format.as_ptr(),
                rows as i64,
                cols as i64,
                bytes.as_ptr().cast(),
                bytes.len(),
                scale_pointer,
                scales.len(),
                options.form as i32,
                options.threads,
                to,
            )
        })
        .map(Self::of)
    }

    /// From rows x cols values, quantised to a format.
    pub fn from_values<'v>(
        values: impl Into<Values<'v>>,
        rows: usize,
        cols: usize,
        format: &str,
        rule: Rule,
        options: PackOptions,
    ) -> Result<Self> {
        let (format, (at, kind, count)) = (c_text("format", format)?, values.into().parts());
        made(|to| unsafe {
            ffi::gpuready_ternary_pack_values(
                at,
                kind,
                count,
                rows as i64,
                cols as i64,
                format.as_ptr(),
                rule as i32,
                options.form as i32,
                options.threads,
                to,
            )
        })
        .map(Self::of)
    }
}

impl<'a> Packed<'a> {
    fn viewed(saved: &'a [u8], trust: i32, threads: u32) -> Result<Self> {
        made(|to| unsafe {
            let at = saved.as_ptr().cast();
            ffi::gpuready_ternary_packed_view(at, saved.len(), trust, threads, to)
        })
        .map(Self::of)
    }

    /// Weights in a saved form, without a copy. `saved` begins at a multiple of 64, as a mapped file and [`Saved`] do,
    /// and is read once and checked: any file may be given.
    pub fn view(saved: &'a [u8], threads: u32) -> Result<Self> {
        Self::viewed(saved, 0, threads)
    }

    /// The same, with only the header, sums and scales checked.
    ///
    /// # Safety
    /// `saved` holds what [`Packed::save`] wrote, undamaged: the kernels do not check it again.
    pub unsafe fn view_trusted(saved: &'a [u8], threads: u32) -> Result<Self> {
        Self::viewed(saved, 1, threads)
    }

    fn info(&self) -> Info {
        let mut it = Info { rows: 0, cols: 0, bytes: 0, saved_bytes: 0 };
        let status = unsafe {
            ffi::gpuready_ternary_packed_info(
                self.handle.as_ptr(),
                &mut it.rows,
                &mut it.cols,
                &mut it.bytes,
                &mut it.saved_bytes,
            )
        };
        check(status).expect("a handle has a shape");
        it
    }

    /// Outputs of a product.
    pub fn rows(&self) -> usize {
        self.info().rows as usize
    }

    /// Values of a row of activations.
    pub fn cols(&self) -> usize {
        self.info().cols as usize
    }

    /// Of the host's memory.
    pub fn bytes(&self) -> usize {
        self.info().bytes
    }

    /// The saved form, which a file can hold: the same on every CPU.
    pub fn save(&self) -> Result<Saved> {
        let bytes = self.info().saved_bytes;
        let mut saved = Saved { lines: vec![Line([0; 64]); (bytes + 63) / 64], bytes };
        let to = saved.lines.as_mut_ptr().cast();
        check(unsafe { ffi::gpuready_ternary_packed_save(self.handle.as_ptr(), to, bytes) })?;
        Ok(saved)
    }
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u8; 64]);

/// Bytes that begin at a multiple of 64, as [`Packed::view`] needs them.
#[derive(Clone)]
pub struct Saved {
    lines: Vec<Line>,
    bytes: usize,
}

impl From<&[u8]> for Saved {
    /// A copy, of a file that was read.
    fn from(from: &[u8]) -> Self {
        let mut lines = vec![Line([0; 64]); (from.len() + 63) / 64];
        for (line, part) in lines.iter_mut().zip(from.chunks(64)) {
            line.0[..part.len()].copy_from_slice(part);
        }
        Self { lines, bytes: from.len() }
    }
}

impl Deref for Saved {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.bytes) }
    }
}

/// Weights that an engine loaded, on its device or on the CPU. They may outlive their engine.
#[derive(Debug)]
pub struct Weights<'a> {
    pub(crate) handle: NonNull<ffi::gpuready_ternary_weights>,
    data: PhantomData<&'a [u8]>,
}
handle!(Weights, gpuready_ternary_weights, gpuready_ternary_weights_destroy);

impl Weights<'_> {
    fn info(&self) -> (i64, i64, i32) {
        let mut it = (0, 0, 0);
        let status = unsafe {
            let at = self.handle.as_ptr();
            ffi::gpuready_ternary_weights_info(at, &mut it.0, &mut it.1, &mut it.2)
        };
        check(status).expect("a handle has a shape");
        it
    }

    /// Outputs of a product.
    pub fn rows(&self) -> usize {
        self.info().0 as usize
    }

    /// Values of a row of activations.
    pub fn cols(&self) -> usize {
        self.info().1 as usize
    }

    /// False: the CPU multiplies them.
    pub fn on_device(&self) -> bool {
        self.info().2 != 0
    }

    /// Why they are on the CPU though the engine has a GPU; empty if they are not.
    pub fn fallback(&self) -> Result<String> {
        whole_text(|text, size| unsafe { ffi::gpuready_ternary_weights_fallback(self.handle.as_ptr(), text, size) })
    }
}

/// Bytes and count of scales that rows x cols weights take in a format.
pub fn encoded_size(format: &str, rows: usize, cols: usize) -> Result<(usize, usize)> {
    let (format, mut bytes, mut scales) = (c_text("format", format)?, 0, 0);
    check(unsafe {
        ffi::gpuready_ternary_encoded_size(format.as_ptr(), rows as i64, cols as i64, &mut bytes, &mut scales)
    })?;
    Ok((bytes, scales))
}

/// An operand whose length does not fit the product.
pub(crate) fn wrong_length(what: &str, length: usize, wanted: usize) -> Error {
    Error::new(ErrorKind::WrongSize, format!("{what} has {length} values; the product needs {wanted}"))
}
