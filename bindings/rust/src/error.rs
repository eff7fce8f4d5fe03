use crate::ffi;
use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_int;

macro_rules! kinds {
    ($($name:ident = $status:literal: $what:literal,)*) => {
        /// The statuses of the C interface.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $(#[doc = $what] $name,)*
            /// A status that this crate does not know.
            Other(i32),
        }

        impl ErrorKind {
            fn from_status(status: c_int) -> Self {
                match status {
                    $($status => Self::$name,)*
                    other => Self::Other(other),
                }
            }

            /// The number in the C interface.
            pub fn status(self) -> i32 {
                match self {
                    $(Self::$name => $status,)*
                    Self::Other(status) => status,
                }
            }
        }
    };
}

kinds! {
    NoGpu = 1: "The requested device is missing, or no backend is available.",
    BadArgument = 2: "A value or text is out of range.",
    DeviceError = 3: "A driver is present and failed.",
    Internal = 4: "An error inside the library.",
    TooLarge = 5: "A size overflows or exceeds a limit, or memory ran out.",
    NotFound = 6: "A file, or what was named in it, is missing.",
    NoPermission = 7: "This user or container may not use it.",
    TimedOut = 8: "The time is over.",
    Unsupported = 9: "This platform, driver or device cannot do it.",
    Busy = 10: "It is in use.",
    Cancelled = 11: "The call was cancelled.",
    Io = 12: "Reading or writing failed.",
    DeviceMemory = 13: "The device has too little free memory.",
    DeviceLost = 14: "The device does not answer any more.",
    WrongSize = 15: "A buffer or shape does not fit the format or the other operand.",
    Truncated = 16: "Encoded bytes end too early.",
    NotFinite = 17: "The input has a NaN or an infinity.",
    BadCode = 18: "Bytes hold a code that the format does not define.",
    NotRepresentable = 19: "The target cannot hold these values without loss.",
    NotTernary = 20: "The format has four levels and no zero.",
    UnknownFormat = 21: "No format has this name.",
    AmbiguousFormat = 22: "Several formats share this name.",
    UnsupportedTier = 23: "This CPU or build does not have the tier.",
}

impl ErrorKind {
    /// The C interface's text for this status.
    pub fn text(self) -> &'static str {
        let text = unsafe { CStr::from_ptr(ffi::gpuready_status_text(self.status())) };
        text.to_str().unwrap_or("")
    }
}

/// What went wrong: a kind, and a sentence with the place and the cure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// Of every function here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: String) -> Self {
        Self { kind, message }
    }

    /// Which error it is, to decide on.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The sentence without the status' text.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}: {}", self.kind.text(), self.message)
    }
}

impl std::error::Error for Error {}

/// The sentence belongs to this thread until its next call.
pub(crate) fn check(status: c_int) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    let text = unsafe { CStr::from_ptr(ffi::gpuready_last_error()) };
    Err(Error::new(ErrorKind::from_status(status), text.to_string_lossy().into_owned()))
}
