import Foundation

/// The state for resuming an upload of encrypted content, also in another process.
///
/// With an upload state, the same content is encrypted to the same bytes.
///
/// The upload state does not contain secrets: the account key wraps the content key, and all data about the content is
/// encrypted or a digest. An upload state belongs to one version of one node's content. A new version gets a new upload
/// state.
public struct UploadState: Hashable, Sendable, Codable {
    /// The preamble and the encrypted header.
    let head: Data
    /// The fingerprints that detect changes of the sources: metadata, thumbnail, data.
    let fingerprints: [String]
}
