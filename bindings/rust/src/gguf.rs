use crate::error::{check, Result};
use crate::ffi;
use crate::handle::{c_text, handle, made, whole_text};
use crate::weights::{PackOptions, Packed};
use std::marker::PhantomData;
use std::ptr::{null, null_mut, NonNull};

/// A tensor of a [`Gguf`] file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    #[allow(missing_docs)]
    pub name: String,
    #[allow(missing_docs)]
    pub rows: usize,
    #[allow(missing_docs)]
    pub cols: usize,
    /// ggml's number.
    pub ggml_type: u32,
}

/// A GGUF file, read in place.
#[derive(Debug)]
pub struct Gguf<'a> {
    handle: NonNull<ffi::gpuready_ternary_gguf>,
    data: PhantomData<&'a [u8]>,
}
handle!(Gguf, gpuready_ternary_gguf, gpuready_ternary_gguf_destroy);

impl<'a> Gguf<'a> {
    /// `bytes` are the whole file.
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        made(|to| unsafe { ffi::gpuready_ternary_gguf_read(bytes.as_ptr().cast(), bytes.len(), to) }).map(Self::of)
    }

    /// Number of tensors.
    pub fn len(&self) -> usize {
        let mut count = 0;
        check(unsafe { ffi::gpuready_ternary_gguf_count(self.handle.as_ptr(), &mut count) })
            .expect("a file has a number of tensors");
        count
    }

    /// True if the file has only metadata.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tensor with this index.
    pub fn tensor(&self, index: usize) -> Result<Tensor> {
        let at = self.handle.as_ptr();
        let (mut rows, mut cols, mut ggml_type) = (0, 0, 0);
        check(unsafe {
            let none = null_mut();
            ffi::gpuready_ternary_gguf_tensor(at, index, none, 0, &mut rows, &mut cols, &mut ggml_type)
        })?;
        let name = whole_text(|text, size| unsafe {
            let (none, no_type) = (null_mut(), null_mut());
            ffi::gpuready_ternary_gguf_tensor(at, index, text, size, none, none, no_type)
        })?;
        Ok(Tensor { name, rows: rows as usize, cols: cols as usize, ggml_type })
    }

    /// The index of the tensor with this name.
    pub fn find(&self, name: &str) -> Result<usize> {
        let (name, mut index) = (c_text("tensor", name)?, 0);
        check(unsafe { ffi::gpuready_ternary_gguf_find(self.handle.as_ptr(), name.as_ptr(), &mut index) })?;
        Ok(index)
    }

    /// Packs a tensor's weights, which do not need the file afterwards. `layout` names a format if the tensor's type
    /// has several ("i2_s-x86").
    pub fn pack(&self, index: usize, layout: Option<&str>, options: PackOptions) -> Result<Packed<'static>> {
        let layout = layout.map(|name| c_text("layout", name)).transpose()?;
        let layout = layout.as_ref().map_or(null(), |name| name.as_ptr());
        made(|to| unsafe {
            ffi::gpuready_ternary_gguf_pack(
                self.handle.as_ptr(),
                index,
                layout,
                options.form as i32,
                options.threads,
                to,
            )
        })
        .map(Packed::of)
    }
}
