extension CloudError.Code {
    /// The bytes are not an encrypted file.
    public static let notEncrypted = CloudError.Code("notEncrypted")
    /// This version of Strata does not know the format version or the algorithm of the encrypted file.
    public static let encryptionVersionUnknown = CloudError.Code("encryptionVersionUnknown")
    /// The account key that wraps the file's content key is not among the given keys.
    public static let accountKeyUnknown = CloudError.Code("accountKeyUnknown")
    /// The account key or the content key does not open the file. It is a different key, or the preamble was tampered
    /// with.
    public static let encryptionKeyRefused = CloudError.Code("encryptionKeyRefused")
    /// The file is authentic, but was encrypted for another node.
    public static let encryptedForAnotherNode = CloudError.Code("encryptedForAnotherNode")
    /// Bytes were changed or moved, or come from another section, version or node.
    public static let encryptedContentDamaged = CloudError.Code("encryptedContentDamaged")
    /// Bytes are missing at the end of the file.
    public static let encryptedContentTruncated = CloudError.Code("encryptedContentTruncated")
    /// The file is authentic, but its content does not follow the format.
    public static let encryptedContentMalformed = CloudError.Code("encryptedContentMalformed")
    /// The account has encrypted its content before, and was now opened without encryption.
    public static let encryptionMissing = CloudError.Code("encryptionMissing")
    /// The source has changed since encryption began. Start the encryption again.
    public static let encryptionSourceChanged = CloudError.Code("encryptionSourceChanged")
    /// The input cannot be encrypted: the format does not allow the chunk size, the key or the header.
    public static let encryptionInputInvalid = CloudError.Code("encryptionInputInvalid")
}
