extension CloudError.Code {
    /// The bytes are not an encrypted file.
    public static let notSealed = CloudError.Code("notSealed")
    /// This version of Strata does not know the format version or the algorithm of the encrypted file.
    public static let sealedVersionUnknown = CloudError.Code("sealedVersionUnknown")
    /// The account key that wraps the file's content key is not among the given keys.
    public static let accountKeyUnknown = CloudError.Code("accountKeyUnknown")
    /// The account key or the content key does not open the file. It is a different key, or the preamble was tampered
    /// with.
    public static let sealKeyRefused = CloudError.Code("sealKeyRefused")
    /// The file is authentic, but was encrypted for another node.
    public static let sealedForAnotherNode = CloudError.Code("sealedForAnotherNode")
    /// Bytes were changed or moved, or come from another section, version or node.
    public static let sealedDamaged = CloudError.Code("sealedDamaged")
    /// Bytes are missing at the end of the file.
    public static let sealedTruncated = CloudError.Code("sealedTruncated")
    /// The file is authentic, but its content does not follow the format.
    public static let sealedMalformed = CloudError.Code("sealedMalformed")
    /// The account has encrypted its content before, and was now opened without encryption.
    public static let sealingMissing = CloudError.Code("sealingMissing")
    /// The source has changed since encryption began. Start the encryption again.
    public static let sealSourceChanged = CloudError.Code("sealSourceChanged")
    /// The input cannot be encrypted: the format does not allow the chunk size, the key or the header.
    public static let sealInvalid = CloudError.Code("sealInvalid")
}
