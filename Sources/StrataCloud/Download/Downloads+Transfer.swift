import Foundation
import Strata

extension Downloads {
    /// Where a section lies at the remote, and the version that was heard of last.
    struct Source: Sendable {
        let key: RemoteKey
        let eTag: ETag?
        /// In bytes; nil where that is not known.
        var size: Int64?
    }

    func source(of place: Place) async throws -> Source {
        let facts = facts
        return try await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            guard let remote = try cloud.remote(place.node), remote.isCertain, !remote.isFolder else {
                throw CloudError(.noSuchNode, "The remote has no content of node \(place.node).", nodes: [place.node])
            }
            return Source(
                key: Sidecar.key(remote.key, place.section),
                eTag: remote.eTag(of: place.section),
                size: place.section == .data ? remote.size : nil
            )
        }
    }

    /// Brings a section here. Where that breaks off, what has arrived stays for the next time.
    func transfer(_ place: Place) async -> Result<Arrival, any Error> {
        do {
            var source = try await source(of: place)
            let key = TransferBook.Key(direction: .download, number: place.node, section: place.section)
            let transfer = transfers.begin(key, of: place.node, size: source.size)
            defer { transfer.end() }
            var version = source.eTag
            for attempt in 1... {
                do {
                    return .success(try await fetch(source, version, place, transfer))
                } catch let error as RemoteError where attempt < Self.tries && Self.isPassing(error) {
                    // Another version is there by now: that is downloaded, and the answer names it.
                    if error.code == .conditionFailed {
                        let there = try await remote.head(source.key)
                        (version, source.size) = (there?.eTag, there?.size)
                    }
                    try await Task.sleep(for: error.retryAfter ?? Self.pause * attempt)
                }
            }
        } catch {
            return .failure(error)
        }
        return .failure(CancellationError())
    }

    private static let tries = 4
    private static let pause = Duration.milliseconds(100)

    private static func isPassing(_ error: RemoteError) -> Bool {
        switch error.code {
        case .conditionFailed, .answerLost, .unavailable, .throttled, .damagedContent: true
        default: false
        }
    }

    /// Goes on behind what has arrived of a version.
    private func fetch(
        _ source: Source,
        _ version: ETag?,
        _ place: Place,
        _ transfer: FollowedTransfer
    ) async throws -> Arrival {
        let key = source.key
        let partial = try PartialFile(folder.appending(path: "partial"), facts.account, place.name, version)
        // A version that is weak may stand for another content.
        let isCertain = version.map { !$0.isWeak } ?? false
        var begin = isCertain ? try partial.size() : 0
        if let size = source.size, begin > size { begin = 0 }
        let range = begin > 0 ? source.size.map { begin..<$0 } : nil
        let download = try await remote.get(key, range: range, if: version.map { .matches($0) } ?? .none)
        try partial.cut(at: download.range.lowerBound)
        var position = download.range.lowerBound
        transfer.resume(at: position, of: download.object.size)
        for try await chunk in download.chunks {
            try partial.append(chunk)
            position += Int64(chunk.count)
            transfer.pass(Int64(chunk.count), to: position)
        }
        // To a task that is cancelled the chunks just end.
        try Task.checkCancellation()
        let size = try partial.size()
        if let whole = download.object.size, whole != size {
            if size > whole { try partial.cut(at: 0) }
            throw RemoteError(.damagedContent, "Of the \(whole) bytes of \(key), \(size) have arrived.", key: key)
        }
        let file = try partial.finish()
        transfer.pass(all: size)
        return Arrival(file, download.object.eTag ?? version)
    }
}
