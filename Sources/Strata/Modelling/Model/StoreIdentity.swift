/// The identity that a store records about itself.
struct StoreIdentity: Sendable {
    var fingerprint: UInt16
    /// The file's identity on this machine.
    var place = ""
    /// The number of migrations so far.
    var migrations: Int64 = 0
    /// The fingerprints of the files that this one was copied from, each with the first id after the copy.
    var lineage: [(fingerprint: UInt16, before: Int64)] = []

    /// Whether this store handed out the id, or the file that it was copied from did so before the copy.
    func knows(fingerprint: UInt16, number: Int64) -> Bool {
        fingerprint == self.fingerprint
            || lineage.contains { $0.fingerprint == fingerprint && number < $0.before }
    }
}
