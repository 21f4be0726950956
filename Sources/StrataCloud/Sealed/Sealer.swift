import Foundation

/// Seals the content of a node into one file, of which ``body`` gives the bytes.
///
/// ```swift
/// let sealer = try Sealer(header, data: .file(video), key: contentKey, node: "alice/42", keys: keys)
/// let ticket = sealer.ticket  // to be kept until the upload is complete
/// try await remote.put(sealer.body, at: key, if: .isAbsent)
/// ```
///
/// Sealing the same content under one ticket gives the same bytes each time, whichever ranges are asked for. So an upload in parts is
/// resumed with the ticket alone:
///
/// ```swift
/// let sealer = try Sealer(resuming: ticket, data: .file(video), node: "alice/42", keys: keys)
/// ```
///
/// If a source has changed meanwhile, `sealSourceChanged` is thrown, by the initialiser or while its bytes are read. Even where a change
/// is not noticed no two different chunks are encrypted with the same key and nonce.
///
/// Isolation: any. **Complexity**: memory for a few chunks, whatever the sizes; any range of the file costs what its chunks cost.
public struct Sealer: Sendable {
    /// The size of chunks where none is given: 64 KiB.
    public static let chunkSize = 65_536

    /// What has to be kept in order to go on in another process.
    public let ticket: SealTicket
    /// The sealed file. Its size is known beforehand, and it can be read more than once, in any ranges.
    public let body: RemoteBody

    /// Begins to seal a version of a node's content.
    ///
    /// - Parameters:
    ///   - header: what is opened first; its sizes are filled in.
    ///   - key: the key of the node.
    ///   - node: what the file is bound to, a text by which the node is known wherever it is opened, and for ever: its account and number, say,
    ///     and not its path if it may move. It cannot be read from the file.
    ///   - keys: those of the account; the current one wraps `key`.
    ///   - chunkSize: how many bytes are sealed together, a power of two from 16 to 16,777,216. A range is opened by whole chunks; each costs 28
    ///     bytes.
    /// - Throws: ``CloudError`` with `sealInvalid`; ``RemoteError`` with `unreadableBody` for files that cannot be read.
    public init(
        _ header: SealedHeader = SealedHeader(),
        metadata: SealSource = .none,
        thumbnail: SealSource = .none,
        data: SealSource = .none,
        key: ContentKey,
        node: String,
        keys: AccountKeys,
        chunkSize: Int = Sealer.chunkSize
    ) throws {
        try self.init(
            header,
            [metadata, thumbnail, data],
            key: key,
            node: node,
            keys: keys,
            chunkSize: chunkSize,
            random: SealedFileKeys.random
        )
    }

    /// - Parameter random: gives so many random bytes: for the salt, the nonce of the table and that of the wrapped key, in this order.
    init(
        _ header: SealedHeader,
        _ sources: [SealSource],
        key: ContentKey,
        node: String,
        keys: AccountKeys,
        chunkSize: Int,
        random: (Int) -> Data
    ) throws {
        let exponent = UInt8(truncatingIfNeeded: chunkSize.trailingZeroBitCount)
        guard chunkSize > 0, chunkSize.nonzeroBitCount == 1, SealedPreamble.exponents ~= exponent else {
            throw CloudError(.sealInvalid, "A chunk has 2^4 to 2^24 bytes, a power of two, not \(chunkSize).")
        }
        let bodies = try sources.map { try $0.body() }
        var header = header
        header.sizes = [.metadata: bodies[0].size, .thumbnail: bodies[1].size, .data: bodies[2].size]
        let plain = try header.encoded()
        let layout = SealedLayout(chunkSize: Int64(chunkSize), sizes: [Int64(plain.count)] + bodies.map(\.size))
        guard layout.isValid else { throw CloudError(.sealInvalid, "A section is larger than 2^56 bytes.") }
        var preamble = SealedPreamble(exponent: exponent, accountKey: keys.current.id, salt: random(32))
        let fileKeys = SealedFileKeys(key, salt: preamble.salt, node: node)
        try preamble.sealTable(layout, node: node, keys: fileKeys, nonce: random(12))
        try preamble.wrap(key, with: keys.current, nonce: random(12))
        var head = preamble.bytes
        let count = layout.chunkCount(of: .header)
        for chunk in 0..<count {
            let range = layout.range(of: .header, chunk: chunk)
            let position = SealedPosition(section: .header, chunk: chunk, isLast: chunk == count - 1)
            head += try fileKeys.seal(plain[Int(range.lowerBound)..<Int(range.upperBound)], at: position)
        }
        let ticket = SealTicket(head: head, fingerprints: try sources.map { try $0.fingerprint() })
        self.init(ticket, sources, bodies, layout, fileKeys)
    }

    /// Goes on with what was begun, with the same sources.
    ///
    /// - Throws: ``CloudError`` with `sealSourceChanged` for other sources; what ``SealedFile/init(_:node:keys:)`` throws for a ticket that is damaged,
    ///   of another node, or of an account key that is not among `keys`.
    public init(
        resuming ticket: SealTicket,
        metadata: SealSource = .none,
        thumbnail: SealSource = .none,
        data: SealSource = .none,
        node: String,
        keys: AccountKeys
    ) throws {
        let file = try SealedFile(ticket.head, node: node, keys: keys)
        guard Int64(ticket.head.count) == file.layout.offset(of: .metadata), try file.header(in: ticket.head) != nil
        else {
            throw CloudError.truncated(Int64(ticket.head.count), file.layout.offset(of: .metadata))
        }
        let sources = [metadata, thumbnail, data]
        let bodies = try sources.map { try $0.body() }
        let sections: [SealedSection] = [.metadata, .thumbnail, .data]
        guard ticket.fingerprints.count == sections.count else {
            throw CloudError(.sealedMalformed, "The ticket is not one of this version's.")
        }
        for (index, section) in sections.enumerated() {
            guard bodies[index].size == file.size(of: section),
                try sources[index].fingerprint() == ticket.fingerprints[index]
            else { throw CloudError.sourceChanged("The source of the section '\(section)'") }
        }
        self.init(ticket, sources, bodies, file.layout, file.keys)
    }

    private init(
        _ ticket: SealTicket,
        _ sources: [SealSource],
        _ bodies: [RemoteBody],
        _ layout: SealedLayout,
        _ keys: SealedFileKeys
    ) {
        self.ticket = ticket
        body = RemoteBody(size: layout.total) { range in
            let reader = SealingReader(
                ticket: ticket,
                sources: sources,
                bodies: bodies,
                layout: layout,
                keys: keys,
                range: range.clamped(to: 0..<layout.total)
            )
            return AsyncThrowingStream(unfolding: { try await reader.next() })
        }
    }
}
