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

    /// The place of a file that a picture mentions. If another node has received the picture, this function first makes
    /// the file from the bytes in the store.
    ///
    /// - Throws: the errors of the store, and `POSIXError` of the file.
    func place(of file: String, from stack: ContextStack) async throws -> URL {
        let place = place(of: file)
        guard !FileManager.default.fileExists(atPath: place.path) else { return place }
        let bytes = try await stack.background { context in
            try context.first(PictureContent.where { $0.file == file })?.bytes
        }
        // A file of a store without a home is missing only if the picture was deleted meanwhile.
        guard let bytes else { return place }
        let draft = incoming.appending(path: UUID().uuidString)
        try await BlockingWork.run {
            do {
                let writer = try DraftFile(draft)
                try bytes.withUnsafeBytes { try writer.append($0) }
                try writer.keep(as: place)
            } catch {
                try? FileManager.default.removeItem(at: draft)
                throw error
            }
        }
        return place
    }

    func bytes(of file: String) async throws -> Data {
        let place = place(of: file)
        return try await BlockingWork.run { try Data(contentsOf: place) }
    }

    func remove(_ file: String) throws {
        let place = place(of: file)
        guard FileManager.default.fileExists(atPath: place.path) else { return }
        try FileManager.default.removeItem(at: place)
    }

    /// Writes the body of a request into a file, as it arrives.
    ///
    /// - Throws: ``Problem`` with 413 above the limit, 415 for other files than PNG and JPEG, 422 for a picture without a
    ///   complete header, and 400 for an incomplete body; the errors of the body; `POSIXError` of the file.
    func receive(_ request: Request) async throws -> ReceivedPicture {
        let announced = request.headers[.contentLength].flatMap { Int($0) }
        if let announced, announced > limit { throw Problem(.contentTooLarge) }
        guard let type = PictureType(mediaType: request.headers[.contentType] ?? "") else {
            throw Problem(.unsupportedMediaType, "Send image/png or image/jpeg.")
        }
        let draft = incoming.appending(path: UUID().uuidString)
        do {
            let file = try await BlockingWork.run { try DraftFile(draft) }
            let size = try await write(request.body, to: file)
            guard size > 0, announced == nil || announced == size else {
                throw Problem(.badRequest, "The picture is not complete.")
            }
            return try await BlockingWork.run { try keep(file, at: draft, type, size: size) }
        } catch {
            // The file may not exist.
            try? FileManager.default.removeItem(at: draft)
            throw error
        }
    }

    /// - Returns: the number of bytes.
    private func write(_ body: RequestBody, to file: DraftFile) async throws -> Int {
        var size = 0
        for try await buffer in body {
            size += buffer.readableBytes
            guard size <= limit else { throw Problem(.contentTooLarge) }
            try await BlockingWork.run { try buffer.withUnsafeReadableBytes { try file.append($0) } }
        }
        return size
    }

    /// Checks a file, flushes it to the disk, and gives it its name.
    private func keep(_ file: DraftFile, at draft: URL, _ type: PictureType, size: Int) throws -> ReceivedPicture {
        let handle = try FileHandle(forReadingFrom: draft)
        defer { try? handle.close() }
        guard let start = try handle.read(upToCount: 8), PictureType(firstBytes: Array(start)) == type else {
            throw Problem(.unsupportedMediaType, "The body is not of the type that the request names.")
        }
        guard try PictureHeader(draft).preview() != nil else {
            throw Problem(.unprocessableContent, "The picture does not have a complete header.")
        }
        let name = "\(UUID().uuidString.lowercased()).\(type.ending)"
        try file.keep(as: place(of: name))
        return ReceivedPicture(file: name, size: size, type: type)
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
