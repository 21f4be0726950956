import Foundation
import Strata
import StrataPipeline

/// Objects of other machines at the place of an upload.
extension ContentPush {
    /// Records that the remote's object is an unanswered upload from this machine, and continues from its version.
    ///
    /// - Parameter seal: how the object is encrypted, if it was read.
    func adoptLostResponse(_ there: RemoteObject, _ seal: KnownSeal? = nil) async throws -> Outcome {
        try await session.recordIntent(attempt.payload) { remote, _ in
            remote.record(there, of: .data, hash: nil, seal: seal)
        }
        return .snooze(for: .zero)
    }

    /// Records a conflict. The uploads of the node wait until the application resolves it.
    func recordConflict(
        of section: ContentSections,
        known: ETag?,
        there: RemoteObject,
        target: PushTarget,
        uploadEncryption: UploadEncryption? = nil,
        after sent: [Sent] = []
    ) async throws -> Outcome {
        let (info, handler, work) = (info, handler, attempt.payload)
        var section = section
        if let difference = try await encryptedDifference(of: there, work, target, uploadEncryption) {
            // The other machine has encrypted the same content again.
            if difference.sections.isEmpty { return try await adoptLostResponse(there, difference.seal) }
            section = difference.sections
        }
        try await stack.overStore { [section] context in
            let cloud = CloudContext(context, info)
            if !sent.isEmpty {
                // These objects have arrived, whatever the outcome of the other sections.
                let remote = try cloud.remoteForSending(work)
                for sent in sent { try sent.record(in: remote, cloud) }
            }
            let conflict =
                try context.first(CloudConflict.where { $0.nodeNumber == work.node })
                ?? context.insert(CloudConflict(account: info.account, nodeNumber: work.node, section: section))
            (conflict.section, conflict.knownETag) = (section, known?.stored)
            (conflict.remoteETag, conflict.remoteSize) = (there.eTag?.stored, there.size)
            try handler.didFind(conflict, in: cloud)
            try context.commit()
        }
        return .wait(CloudAccount.conflict)
    }
}

/// Conflicts of encrypted files. The header of a file contains a digest of each section's version.
extension ContentPush {
    /// The difference between another machine's file and the known version.
    private struct EncryptedDifference: Sendable {
        /// The sections with another version; empty if the content is the same.
        let sections: ContentSections
        /// How the file is encrypted.
        let seal: KnownSeal
    }

    /// Compares another machine's file with the known version and with the content of this upload. A section without a
    /// known digest counts as different if the application also gives it.
    ///
    /// - Parameter sending: the content of this upload, if the application has already given all of it.
    /// - Returns: nil if a comparison is impossible: the account is not encrypted, or the file cannot be opened.
    private func encryptedDifference(
        of there: RemoteObject,
        _ work: CloudWork,
        _ target: PushTarget,
        _ sending: UploadEncryption?
    ) async throws -> EncryptedDifference? {
        guard let encryption = session.pusher.encryption, let theirs = try await seal(of: there, encryption) else {
            return nil
        }
        let known = target.remote?.knownSeal.flatMap { $0.isPlain ? nil : $0 }
        let ours: [ContentSections: String]
        if let sending { ours = sending.digests } else { ours = try await digests(of: target, work) }
        let sizes = try await sizes(known, theirs, encryption)
        var (different, doubtful): (ContentSections, ContentSections) = ([], [])
        for section in ContentSections.given.elements {
            let digest = theirs.digest(of: section)
            if let digest, digest == ours[section] { continue }
            switch isSame(section, known, theirs, sizes) {
            case true?: continue
            case false?: different.insert(section)
            case nil where ours[section] != nil: different.insert(section)
            case nil: if theirs.sections.contains(section) { doubtful.insert(section) }
            }
        }
        if let own = known?.digest(of: .header), let other = theirs.digest(of: .header), own != other {
            different.insert(.header)
        }
        return EncryptedDifference(sections: different.isEmpty ? doubtful : different, seal: theirs)
    }

    /// The digests of the sections that the application gives.
    private func digests(of target: PushTarget, _ work: CloudWork) async throws -> [ContentSections: String] {
        guard let node = target.node, let path = target.path else { return [:] }
        let request = session.request(for: node, at: path, link: node.link ?? work.sourceLink)
        var digests: [ContentSections: String] = [:]
        for section in target.sections.subtracting(.header).elements {
            guard let body = try await handler.content(for: request.asking(section))?.gathered() else { continue }
            digests[section] = EncryptedHeader.digest(try await ContentHash(of: body))
        }
        return digests
    }

    /// Whether a section has the known version; nil if that is unknown.
    private func isSame(
        _ section: ContentSections,
        _ known: KnownSeal?,
        _ theirs: KnownSeal,
        _ sizes: (known: EncryptedFile, theirs: EncryptedFile)?
    ) -> Bool? {
        guard let known else { return nil }
        let (was, now) = (known.sections.contains(section), theirs.sections.contains(section))
        if !was || !now { return was == now }
        if let own = known.digest(of: section), let other = theirs.digest(of: section) { return own == other }
        // Earlier versions of Strata have not written the digest.
        guard let sizes, let section = EncryptedSection(section) else { return nil }
        return sizes.known.size(of: section) == sizes.theirs.size(of: section) ? nil : false
    }

    private func sizes(
        _ known: KnownSeal?,
        _ theirs: KnownSeal,
        _ encryption: ContentEncryption
    ) async throws -> (known: EncryptedFile, theirs: EncryptedFile)? {
        guard let known else { return nil }
        do {
            return (try await encryption.open(known.preamble), try await encryption.open(theirs.preamble))
        } catch is CloudError { return nil }
    }

    /// How a file at the remote is encrypted, with the digests of its header; nil if it cannot be opened, or has
    /// changed again.
    private func seal(of there: RemoteObject, _ encryption: ContentEncryption) async throws -> KnownSeal? {
        do {
            let condition = there.eTag.map { RemoteCondition.matches($0) } ?? .none
            let start = try await remote.get(there.key, range: 0..<EncryptedFile.firstRead, if: condition).data()
            let file = try await encryption.open(start)
            return KnownSeal(file, there.eTag, start: start)
        } catch is CloudError {
            return nil
        } catch let error as RemoteError where error.code == .conditionFailed || error.code == .notFound {
            return nil
        }
    }
}
