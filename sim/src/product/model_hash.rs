//! A number that names the model: what is known of a SoC, and the version of the code that works on it.

use std::hash::Hasher;

use fnv::FnvHasher;

use super::Soc;

impl Soc {
    /// A stable hash (FNV-1a, 64 bits, as 16 hexadecimal digits) of this crate's version and of every number that is stated of
    /// the SoC, with its key. Neither the name nor sources count: two SoCs of the same numbers have the same one.
    ///
    /// Results whose hashes are equal come from the same model.
    ///
    /// ```
    /// # use ubtile_sim::product::Soc;
    /// let [b1, b4] = ["Ascend910B1", "Ascend910B4"].map(|name| Soc::builtin(name).unwrap().model_hash());
    /// assert_ne!(b1, b4);
    /// ```
    #[must_use]
    pub fn model_hash(&self) -> String {
        let mut hash = FnvHasher::default();
        let mut add = |text: &str| {
            hash.write(text.as_bytes());
            hash.write_u8(0);
        };
        add(env!("CARGO_PKG_VERSION"));
        for fact in self.facts() {
            if let Some(value) = &fact.value {
                add(&fact.key);
                add(&value.to_string());
            }
        }
        format!("{:016x}", hash.finish())
    }
}
