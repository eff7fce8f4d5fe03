//! What the types over handles share.
use crate::error::{check, Error, ErrorKind, Result};
use std::ffi::CString;
use std::os::raw::{c_char, c_int};
use std::ptr::{null_mut, NonNull};

/// The handle that a call made.
pub(crate) fn made<T>(call: impl FnOnce(*mut *mut T) -> c_int) -> Result<NonNull<T>> {
    let mut handle = null_mut();
    check(call(&mut handle))?;
    Ok(NonNull::new(handle).expect("the library made a handle"))
}

pub(crate) fn c_text(name: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::new(ErrorKind::BadArgument, format!("{name} {text:?} holds a NUL byte")))
}

pub(crate) fn string_of(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A text of any length from a call that cuts it to the capacity.
pub(crate) fn whole_text(call: impl Fn(*mut c_char, usize) -> c_int) -> Result<String> {
    let mut room = vec![0 as c_char; 256];
    loop {
        check(call(room.as_mut_ptr(), room.len()))?;
        let text = string_of(&room);
        if text.len() + 1 < room.len() {
            return Ok(text);
        }
        room.resize(2 * room.len(), 0);
    }
}

/// A type over a handle, with the function that ends it. Every function of the library may be called from any thread.
macro_rules! handle {
    ($name:ident, $c:ident, $destroy:ident) => {
        unsafe impl Send for $name<'_> {}
        unsafe impl Sync for $name<'_> {}
        impl Drop for $name<'_> {
            fn drop(&mut self) {
                unsafe { $crate::ffi::$destroy(self.handle.as_ptr()) }
            }
        }
        impl $name<'_> {
            pub(crate) fn of(handle: std::ptr::NonNull<$crate::ffi::$c>) -> Self {
                Self { handle, data: std::marker::PhantomData }
            }
        }
    };
}
pub(crate) use handle;
