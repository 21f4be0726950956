import Foundation
import Hummingbird
import Strata

/// A picture that has arrived, and is on the disk.
struct ReceivedPicture: Sendable {
    /// The name of the file in the folder.
    let file: String
    let size: Int
    let type: PictureType
}

/// The folder with the files of pictures.
///
/// A file gets its name before the commit that mentions it. A process that ends in between leaves a file without a row,
/// which ``sweep(_:)`` removes at the next start.
struct PictureFolder: Sendable {
    let url: URL
    /// The largest picture, in bytes.
    let limit: Int

    private var incoming: URL { url.appending(path: "incoming") }

    func create() throws {
        try FileManager.default.createDirectory(at: incoming, withIntermediateDirectories: true)
    }

    func place(of file: String) -> URL { url.appending(path: file) }

    func remove(_ file: String) throws {
        let place = place(of: file)
        guard FileManager.default.fileExists(atPath: place.path) else { return }
        try FileManager.default.removeItem(at: place)
    }

    /// Writes the body of a request into a file, as it arrives.
    ///
    /// - Throws: ``Problem`` with 413 above the limit, 415 for other files than PNG and JPEG, and 400 for an incomplete
    ///   body.
    func receive(_ request: Request, context: some RequestContext) async throws -> ReceivedPicture {
        let announced = request.headers[.contentLength].flatMap { Int($0) }
        if let announced, announced > limit { throw Problem(.contentTooLarge) }
        let mediaType = request.headers[.contentType] ?? ""
        guard let type = PictureType(rawValue: mediaType.lowercased()) else {
            throw Problem(.unsupportedMediaType, "Send image/png or image/jpeg.")
        }
        let draft = incoming.appending(path: UUID().uuidString)
        do {
            let body = LimitedBody(body: request.body, limit: limit)
            try await FileIO().writeFile(contents: body, path: draft.path, context: context)
            return try await BlockingWork.run { try keep(draft, type, announced: announced) }
        } catch {
            // The file may not exist yet.
            try? FileManager.default.removeItem(at: draft)
            throw error
        }
    }

    /// Checks a file, flushes it to the disk, and gives it its name.
    private func keep(_ draft: URL, _ type: PictureType, announced: Int?) throws -> ReceivedPicture {
        let handle = try FileHandle(forUpdating: draft)
        defer { try? handle.close() }
        let size = Int(try handle.seekToEnd())
        guard size > 0, announced == nil || announced == size else {
            throw Problem(.badRequest, "The picture is not complete.")
        }
        try handle.seek(toOffset: 0)
        guard let start = try handle.read(upToCount: 8), PictureType(firstBytes: Array(start)) == type else {
            throw Problem(.unsupportedMediaType, "The body is not of the type that the request names.")
        }
        try handle.synchronize()
        let file = "\(UUID().uuidString.lowercased()).\(type.ending)"
        try FileManager.default.moveItem(at: draft, to: place(of: file))
        try flushFolder()
        return ReceivedPicture(file: file, size: size, type: type)
    }

    /// Flushes the names in the folder, so that a file survives a loss of power if its commit does.
    private func flushFolder() throws {
        let descriptor = open(url.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    private func names(in folder: URL) async throws -> [String] {
        try await BlockingWork.run { try FileManager.default.contentsOfDirectory(atPath: folder.path) }
    }

    /// Removes interrupted uploads, and files that no picture mentions. Only one service may use the folder.
    func sweep(_ stack: ContextStack) async throws {
        let drafts = try await names(in: incoming)
        let files = try await names(in: url)
        for draft in drafts { try? FileManager.default.removeItem(at: incoming.appending(path: draft)) }
        let names = files.filter { $0 != incoming.lastPathComponent }
        for start in stride(from: 0, to: names.count, by: 500) {
            let some = Array(names[start..<min(start + 500, names.count)])
            let known = try await stack.background { context in
                try context.column(Picture.where { $0.file.in(some) }, \.file)
            }
            for name in Set(some).subtracting(known) { try remove(name) }
        }
    }
}

/// The body of a request, up to a limit.
private struct LimitedBody: AsyncSequence {
    typealias Element = ByteBuffer

    let body: RequestBody
    let limit: Int

    func makeAsyncIterator() -> Iterator { Iterator(base: body.makeAsyncIterator(), left: limit) }

    struct Iterator: AsyncIteratorProtocol {
        var base: RequestBody.AsyncIterator
        var left: Int

        mutating func next() async throws -> ByteBuffer? {
            guard let buffer = try await base.next() else { return nil }
            left -= buffer.readableBytes
            guard left >= 0 else { throw Problem(.contentTooLarge) }
            return buffer
        }
    }
}
