import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Strata
import StrataCloud
import Testing

@testable import PressKit

@Suite("Pictures") struct PictureTests {
    /// The beginning of a PNG of this size, and some bytes.
    static func png(width: UInt8 = 4, height: UInt8 = 3, bytes: Int = 100) -> ByteBuffer {
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let header: [UInt8] = [0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, width, 0, 0, 0, height]
        return ByteBuffer(bytes: signature + header + [UInt8](repeating: 7, count: bytes))
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
