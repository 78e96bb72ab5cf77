//! What the operators' tests share.

use std::sync::Mutex;

use ubtile_kernels::{Parallel, Values, ValuesMut};
use ubtile_testkit::Data;

/// Runs shares on that many threads.
pub(crate) struct Threads(pub(crate) usize);

impl Parallel for Threads {
    fn for_each<I, F>(&self, items: I, work: F)
    where
        I: Iterator + Send,
        I::Item: Send,
        F: Fn(I::Item) + Sync,
    {
        let queue = Mutex::new(items);
        let next = || queue.lock().unwrap().next();
        let work_through = || {
            while let Some(item) = next() {
                work(item);
            }
        };
        // This thread is one of them: to start one takes longer than most cases.
        std::thread::scope(|scope| {
            for _ in 1..self.0 {
                scope.spawn(work_through);
            }
            work_through();
        });
    }
}

pub(crate) fn values(data: &Data) -> Values<'_> {
    Values::from_bytes(data.dtype(), data.bytes()).unwrap()
}

pub(crate) fn values_mut(data: &mut Data) -> ValuesMut<'_> {
    ValuesMut::from_bytes(data.dtype(), data.bytes_mut()).unwrap()
}
