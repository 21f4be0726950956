import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Strata
import StrataCloud
import Testing

@testable import PressKit

@Suite("Pictures") struct PictureTests {
    /// A PNG of this size whose data are some bytes. Its checksums are wrong, and nothing reads them.
    static func png(width: UInt8 = 4, height: UInt8 = 3, bytes: Int = 100) -> ByteBuffer {
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let header = chunk("IHDR", [0, 0, 0, width, 0, 0, 0, height, 8, 2, 0, 0, 0])
        let data = chunk("IDAT", [UInt8](repeating: 7, count: bytes))
        return ByteBuffer(bytes: signature + header + data + chunk("IEND", []))
    }

    private static func chunk(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
        let length: [UInt8] = [0, 0, UInt8(bytes.count / 256), UInt8(bytes.count % 256)]
        return length + Array(name.utf8) + bytes + [0, 0, 0, 0]
    }

    /// A JPEG with a comment before the frame.
    static let jpeg = ByteBuffer(
        bytes: [0xFF, 0xD8, 0xFF, 0xFE, 0, 4, 1, 2, 0xFF, 0xC0, 0, 11, 8, 0, 5, 0, 6, 1, 1, 0x11, 0] as [UInt8]
    )

    @Test("A picture reaches the folder of the mirror, and gets a preview", .timeLimit(.minutes(1)))
    func mirrored() async throws {
        try await PressFixture.run { fixture, client in
            let author = try await client.addAuthor()
            let article = try await client.addArticle("Rivers", by: author)
            let address = try #require(article.headers[.location])
            for (body, type) in [(Self.png(), "image/png"), (Self.jpeg, "image/jpeg")] {
                let sent = try await client.send(
                    .post,
                    address + "/pictures",
                    body: body,
                    headers: [.contentType: type]
                )
                #expect(sent.status == .created)
                #expect(sent.text("type") == type)
            }
            let press = fixture.press
            try await press.account.waitUntilIdle()
            try await press.previews.waitUntilIdle()
            let rows = try await press.stack.background { context in
                try context.rows(Picture.all.sorted { $0.size.descending })
            }
            #expect(rows.map(\.preview) == [PicturePreview(width: 4, height: 3), PicturePreview(width: 6, height: 5)])
            #expect(rows.allSatisfy { $0.state == .ready && $0.mirroredAt != nil })
            // The upload and the preview have changed the picture, so that its entity tag is another one.
            #expect(rows.map(\.version) == [3, 3])
            let files = try Self.mirrorFiles(fixture)
            #expect(Set(files.values.map(\.count)) == [Self.png().readableBytes, Self.jpeg.readableBytes])

            let picture = try await client.send(.get, "/pictures/\(rows[0].id)")
            #expect(picture.json["preview"] as? [String: Int] == ["width": 4, "height": 3])
            let file = try await client.send(.get, "/pictures/\(rows[0].id)/file")
            #expect(file.body == Data(Self.png().readableBytesView))
            #expect(file.headers[.contentType] == "image/png")

            let deleted = try await client.send(.delete, address, headers: [.ifMatch: "*"])
            #expect(deleted.status == .noContent)
            try await press.account.waitUntilIdle()
            try await press.previews.waitUntilIdle()
            #expect(try Self.mirrorFiles(fixture).isEmpty)
            #expect(try Self.localFiles(fixture).isEmpty)
        }
    }

    /// The contents of all files below the folder of the mirror, without those of the remote itself.
    static func mirrorFiles(_ fixture: PressFixture) throws -> [String: Data] {
        let folder = fixture.scratch.url.appending(path: "mirror/home")
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
        return try paths.filter { $0.hasSuffix(".png") || $0.hasSuffix(".jpg") }.reduce(into: [:]) { files, path in
            files[path] = try Data(contentsOf: folder.appending(path: path))
        }
    }

    static func localFiles(_ fixture: PressFixture) throws -> [String] {
        let folder = fixture.press.pictures.url
        let incoming = try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "incoming").path)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0 != "incoming" } + incoming
    }

    @Test("Refused pictures leave no files", .timeLimit(.minutes(1)))
    func refused() async throws {
        try await PressFixture.run(
            change: {
                $0.maximumPictureBytes = 1000
                $0.maximumPicturesOfArticle = 1
            }
        ) { fixture, client in
            let author = try await client.addAuthor()
            let article = try await client.addArticle("Rivers", by: author)
            let address = try #require(article.headers[.location]) + "/pictures"
            let cases: [(ByteBuffer, String, HTTPResponse.Status)] = [
                (Self.png(bytes: 2000), "image/png", .contentTooLarge),
                (Self.png(), "text/plain", .unsupportedMediaType),
                (Self.png(), "image/jpeg", .unsupportedMediaType),
                (ByteBuffer(string: "<script>"), "image/png", .unsupportedMediaType),
                (ByteBuffer(), "image/png", .badRequest),
                // The signature alone, and a header without its checksum.
                (ByteBuffer(bytes: Array(Self.png().readableBytesView.prefix(8))), "image/png", .unprocessableContent),
                (ByteBuffer(bytes: Array(Self.png().readableBytesView.prefix(32))), "image/png", .unprocessableContent),
            ]
            for (body, type, status) in cases {
                let answer = try await client.send(.post, address, body: body, headers: [.contentType: type])
                #expect(answer.status == status, "\(type)")
            }
            let nowhere = try await client.send(
                .post,
                "/articles/7/pictures",
                body: Self.png(),
                headers: [.contentType: "image/png"]
            )
            #expect(nowhere.status == .notFound)
            #expect(try Self.localFiles(fixture).isEmpty)
            for status in [HTTPResponse.Status.created, .conflict] {
                let answer = try await client.send(
                    .post,
                    address,
                    body: Self.png(),
                    headers: [.contentType: "image/png"]
                )
                #expect(answer.status == status)
            }
            #expect(try Self.localFiles(fixture).count == 1)
        }
    }

    @Test("A body above the limit that does not announce its length gets 413", .timeLimit(.minutes(1)))
    func streamedBody() async throws {
        try await PressFixture.run(.live, change: { $0.maximumPictureBytes = 1000 }) { fixture, client in
            let author = try await client.addAuthor()
            let article = try await client.addArticle("Rivers", by: author)
            let address = try #require(article.headers[.location]) + "/pictures"
            let port = try #require(client.port)
            var request = HTTPClientRequest(url: "http://localhost:\(port)\(address)")
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "image/png")
            request.body = .bytes(Self.png(bytes: 2000).readableBytesView, length: .unknown)
            let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
            #expect(answer.status == .payloadTooLarge)
            #expect(try Self.localFiles(fixture).isEmpty)
        }
    }

    @Test("A picture without its end is not ready, and parameters of its type are allowed", .timeLimit(.minutes(1)))
    func cutPicture() async throws {
        try await PressFixture.run { fixture, client in
            let author = try await client.addAuthor()
            let article = try await client.addArticle("Rivers", by: author)
            let address = try #require(article.headers[.location]) + "/pictures"
            let cut = ByteBuffer(bytes: Array(Self.png().readableBytesView.prefix(80)))
            let type = "Image/PNG; charset=binary"
            let sent = try await client.send(.post, address, body: cut, headers: [.contentType: type])
            #expect(sent.status == .created)
            try await fixture.press.previews.waitUntilIdle()
            let picture = try await client.send(.get, try #require(sent.headers[.location]))
            #expect(picture.text("state") == "unreadable")
        }
    }

    @Test("The file of a picture has an entity tag", .timeLimit(.minutes(1)))
    func entityTag() async throws {
        try await PressFixture.run { _, client in
            let author = try await client.addAuthor()
            let article = try await client.addArticle("Rivers", by: author)
            let address = try #require(article.headers[.location]) + "/pictures"
            let sent = try await client.send(.post, address, body: Self.png(), headers: [.contentType: "image/png"])
            let file = try #require(sent.headers[.location]) + "/file"
            let first = try await client.send(.get, file)
            #expect(first.eTag.hasPrefix("\""))
            let known = try await client.send(.get, file, headers: [.ifNoneMatch: first.eTag])
            #expect(known.status == .notModified)
            #expect(known.body.isEmpty)
        }
    }

    @Test(
        "Damaged headers have no preview",
        arguments: [
            [], [0xFF, 0xD8, 0xFF], [0xFF, 0xD8, 0xFF, 0xE0, 0, 0], [0xFF, 0xD8, 0xFF, 0xE0, 0xFF, 0xFF],
            [0xFF, 0xD8, 0xFF, 0xC0, 0, 11, 8, 0], [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1],
        ] as [[UInt8]]
    )
    func damagedHeaders(_ bytes: [UInt8]) async throws {
        try await PressFixture.run { fixture, _ in
            let file = fixture.scratch.file("picture")
            try Data(bytes).write(to: file)
            #expect(try PictureHeader(file).preview() == nil)
        }
    }

    @Test("A start removes files that no picture mentions, and interrupted uploads", .timeLimit(.minutes(1)))
    func sweep() async throws {
        try await PressFixture.run { fixture, client in
            let author = try await client.addAuthor()
            let article = try await client.addArticle("Rivers", by: author)
            let address = try #require(article.headers[.location]) + "/pictures"
            _ = try await client.send(.post, address, body: Self.png(), headers: [.contentType: "image/png"])
            let pictures = fixture.press.pictures
            let kept = try Self.localFiles(fixture)
            #expect(kept.count == 1)
            try Data([1]).write(to: pictures.place(of: "orphan.png"))
            try Data([1]).write(to: pictures.place(of: "incoming/draft"))
            try await pictures.sweep(fixture.press.stack)
            #expect(try Self.localFiles(fixture) == kept)
        }
    }
}
