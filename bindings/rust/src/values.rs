use std::os::raw::{c_int, c_void};

/// The 16 bits of an IEEE half-precision number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

/// The 16 bits of a bfloat16 number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);

macro_rules! values {
    ($($name:ident($of:ty) = $code:literal,)*) => {
        /// Numbers of one of the types that the library reads, row-major.
        #[derive(Clone, Copy, Debug)]
        pub enum Values<'a> {
            $(#[allow(missing_docs)] $name(&'a [$of]),)*
        }

        /// Room for numbers of one of the types that the library writes, row-major.
        #[derive(Debug)]
        pub enum ValuesMut<'a> {
            $(#[allow(missing_docs)] $name(&'a mut [$of]),)*
        }

        impl Values<'_> {
            pub(crate) fn parts(&self) -> (*const c_void, c_int, usize) {
                match self {
                    $(Self::$name(it) => (it.as_ptr().cast(), $code, it.len()),)*
                }
            }
        }

        impl ValuesMut<'_> {
            /// Address, type and bytes.
            pub(crate) fn parts(&mut self) -> (*mut c_void, c_int, usize) {
                match self {
                    $(Self::$name(it) => (it.as_mut_ptr().cast(), $code, std::mem::size_of_val(*it)),)*
                }
            }
        }

        $(
            impl<'a> From<&'a [$of]> for Values<'a> {
                fn from(it: &'a [$of]) -> Self {
                    Self::$name(it)
                }
            }
            impl<'a> From<&'a Vec<$of>> for Values<'a> {
                fn from(it: &'a Vec<$of>) -> Self {
                    Self::$name(it)
                }
            }
            impl<'a, const N: usize> From<&'a [$of; N]> for Values<'a> {
                fn from(it: &'a [$of; N]) -> Self {
                    Self::$name(it)
                }
            }
            impl<'a> From<&'a mut [$of]> for ValuesMut<'a> {
                fn from(it: &'a mut [$of]) -> Self {
                    Self::$name(it)
                }
            }
            impl<'a> From<&'a mut Vec<$of>> for ValuesMut<'a> {
                fn from(it: &'a mut Vec<$of>) -> Self {
                    Self::$name(it)
                }
            }
            impl<'a, const N: usize> From<&'a mut [$of; N]> for ValuesMut<'a> {
                fn from(it: &'a mut [$of; N]) -> Self {
                    Self::$name(it)
                }
            }
        )*
    };
}

values! {
    F32(f32) = 0,
    F16(F16) = 1,
    Bf16(Bf16) = 2,
}
