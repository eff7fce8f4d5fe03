use crate::ffi::Task;
use std::os::raw::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::abort;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// Threads of the caller's that do an engine's work.
pub trait Pool: Send + Sync {
    /// The most that work at once.
    fn threads(&self) -> u32;

    /// Calls `task` up to `count` times, on any threads, at once or one after the other, and returns when all calls
    /// did. Each call does a part; what remains is done afterwards on the calling thread. While it waits, neither it
    /// nor its threads may begin or wait for another call on the same engine.
    fn run(&self, count: u32, task: &(dyn Fn() + Sync));
}

struct Argument(*mut c_void);
unsafe impl Sync for Argument {}

/// The library's callback. Indices are given out here, so that no implementation of `Pool` does a part twice or
/// leaves one out. A panic cannot cross the library, and its output would be incomplete: the process ends.
pub(crate) unsafe extern "C" fn run(context: *mut c_void, count: u32, task: Task, argument: *mut c_void) {
    let (pool, argument) = (&*context.cast::<Arc<dyn Pool>>(), &Argument(argument));
    let next = AtomicU32::new(0);
    let one = || {
        let taken =
            next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |index| (index < count).then_some(index + 1));
        taken.map(|index| task(argument.0, index)).is_ok()
    };
    let done = catch_unwind(AssertUnwindSafe(|| {
        pool.run(count, &|| {
            one();
        });
    }));
    if done.is_err() {
        eprintln!("gpuready-ternary: a pool panicked");
        abort();
    }
    while one() {}
}
