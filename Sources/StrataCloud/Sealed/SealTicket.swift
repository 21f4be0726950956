import Foundation

/// What has to be kept to go on with an upload of sealed content, also in another process: with it the same content is sealed to the
/// same bytes.
///
/// It holds no secret: the keys in it are wrapped by the account's, and what it holds of the content is sealed or a digest.
/// A ticket belongs to one version of one node's content; a new version gets a new one.
public struct SealTicket: Hashable, Sendable, Codable {
    /// The preamble and the sealed header.
    let head: Data
    /// By which changes of the sources are noticed: metadata, thumbnail, data.
    let fingerprints: [String]
}
