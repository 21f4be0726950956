import Foundation
import Hummingbird
import Strata
import StrataInspection
import StrataPipeline
import Synchronization

/// Answers with the whole payload or result of an operation, as a file that the browser does not show.
struct OperationDownload: Sendable {
    /// A document of an operation. The raw value is its column, and a part of addresses.
    enum Part: String, Sendable, CaseIterable {
        case payload
        case result
    }

    static let path = "operation/download"
    /// The greatest number of bytes of a document.
    static let greatestSize = 64 << 20

    /// - Throws: ``ConsoleError``.
    func response(_ request: ConsoleRequest) async throws -> Response {
        let name = try request.query.required("part")
        guard let part = Part.allCases.first(where: { $0.rawValue.hasSameBytes(as: name) }) else {
            throw ConsoleError.notFound("An operation has no part '\(ViewText.line(name))'.")
        }
        let id = try request.query.requiredNumber("id", upTo: ConsoleFields.greatestID)
        let place = try DownloadPlaces.shared.take()
        let limit = Self.greatestSize
        let found = try await request.read { context -> (bytes: Data, size: Int)? in
            let rows = try context.rows(JobDetails.selectQueued(id, size: limit))
            let row = try rows.first ?? context.rows(JobDetails.selectFinished(id, size: limit)).first
            let (column, length) = part == .payload ? ("payload", "size") : ("result", "resultSize")
            guard let row, let bytes = row.lenient(column).lenientBytes else { return nil }
            return (bytes: bytes, size: Int(row.lenient(length).lenientInteger ?? 0))
        }
        guard let (bytes, size) = found else { throw OperationPage.notFound(id) }
        guard bytes.count == size else {
            throw ConsoleError(
                .contentTooLarge,
                "The document has \(size) bytes, and the console sends at most \(limit). 'strata jobs show --json' "
                    + "prints documents of any size."
            )
        }
        // The answer keeps this copy only.
        let buffer = ByteBuffer(bytes: bytes)
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/octet-stream",
                .contentDisposition: "attachment; filename=\"operation-\(id)-\(part.rawValue)\"",
            ],
            body: ResponseBody(contentLength: buffer.readableBytes) { writer in
                // The place is free when the answer is sent or given up.
                defer { withExtendedLifetime(place) {} }
                try await writer.write(buffer)
                try await writer.finish(nil)
            }
        )
    }
}

/// The places of downloads, so that slow clients of large documents do not fill the memory.
final class DownloadPlaces: Sendable {
    static let shared = DownloadPlaces()
    private static let limit = 4

    private let count = Mutex(0)

    /// A place. It is given back when its last reference disappears.
    final class Place: Sendable {
        private let places: DownloadPlaces

        fileprivate init(_ places: DownloadPlaces) { self.places = places }

        deinit { places.count.withLock { $0 -= 1 } }
    }

    /// - Throws: ``ConsoleError`` if all places are taken.
    func take() throws -> Place {
        let isFree = count.withLock { count in
            guard count < Self.limit else { return false }
            count += 1
            return true
        }
        guard isFree else {
            throw ConsoleError(.serviceUnavailable, "Too many documents are being downloaded. Try again later.")
        }
        return Place(self)
    }
}
