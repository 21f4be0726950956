extension CloudError.Code {
    /// The bytes are no sealed file.
    public static let notSealed = CloudError.Code("notSealed")
    /// The sealed file is of a version, or sealed by an algorithm, that this version of Strata does not know.
    public static let sealedVersionUnknown = CloudError.Code("sealedVersionUnknown")
    /// The account key with which the content key is wrapped is not among those given.
    public static let accountKeyUnknown = CloudError.Code("accountKeyUnknown")
    /// The account key, or the content key, does not open the file: it is another one, or the preamble was tampered with.
    public static let sealKeyRefused = CloudError.Code("sealKeyRefused")
    /// The file is genuine, and was sealed for another node.
    public static let sealedForAnotherNode = CloudError.Code("sealedForAnotherNode")
    /// Bytes were changed, moved, or come from another section, version or node.
    public static let sealedDamaged = CloudError.Code("sealedDamaged")
    /// Bytes are missing at the end.
    public static let sealedTruncated = CloudError.Code("sealedTruncated")
    /// The file is genuine, and what is in it is not as the format says.
    public static let sealedMalformed = CloudError.Code("sealedMalformed")
    /// The account has sealed its content before, and was opened without sealing.
    public static let sealingMissing = CloudError.Code("sealingMissing")
    /// What is to be sealed has changed since sealing began; begin anew.
    public static let sealSourceChanged = CloudError.Code("sealSourceChanged")
    /// It cannot be sealed so: a chunk size, a key or a header that the format does not allow.
    public static let sealInvalid = CloudError.Code("sealInvalid")
}
