import Foundation
import TestHomeTraits
import Testing

@testable import Strata

@Model final class Photo {
    @Attribute(.unique) var name: String
    @Attribute(.externalStorage) var image: Data
    @Attribute(.externalStorage) var thumbnail: Data?
    var album: Album?
}

@Model final class Album {
    var title: String
    @Relationship(deleteRule: .cascade, inverse: \Photo.album) var photos: Many<Photo>
}

/// The same tables with the bytes in the row.
private enum Inline {
    @Model final class Photo {
        @Attribute(.unique) var name: String
        var image: Data
        var thumbnail: Data?
        var album: Album?
    }

    @Model final class Album {
        var title: String
        @Relationship(deleteRule: .cascade, inverse: \Photo.album) var photos: Many<Photo>
    }
}

@Suite("Data outside the row")
struct ExternalDataTests {
    private static let models: [any Model.Type] = [Photo.self, Album.self]

    func open(_ location: StoreLocation = .inMemory, _ setUp: StackSetUp = .standard) async throws
        -> ContextStack
    {
        try await ContextStack.open(location, models: Self.models, stack: setUp)
    }

    /// A stack on a store with one photo.
    func openWithPhoto(thumbnail: Data? = nil) async throws -> ContextStack {
        let stack = try await open()
        try await stack.background { context in
            context.insert(Photo(name: "a", image: bytes(1), thumbnail: thumbnail))
            try context.commit()
        }
        return stack
    }

    func bytes(_ byte: UInt8, _ count: Int = 100_000) -> Data { Data(repeating: byte, count: count) }

    /// The first byte of each value that the store keeps outside of rows, in the order of insertion.
    func stored(_ stack: ContextStack) throws -> [UInt8] {
        let reader = try stack.core.engine.borrowReader()
        defer { stack.core.engine.giveBack(reader) }
        var result: [UInt8] = []
        try reader.connection.statement("SELECT content FROM strata_data ORDER BY id").run([]) { row in
            if case .blob(let data) = row.value(at: 0) { result.append(data.first ?? 0) }
        }
        return result
    }

    @Test("Queries see unsaved bytes in every context that sees the object")
    func pendingThroughQueries() async throws {
        let stack = try await openWithPhoto()
        try stack.create(.private, named: "other")
        let id = try await stack.on(.main) { context in
            try #require(try context.first(Photo.all)).thumbnail = bytes(3, 10)
            return context.insert(Photo(name: "b", image: bytes(2))).id
        }
        for name in [ContextName.main, "other"] {
            try await stack.on(name) { context in
                let photos = try context.fetch(Photo.sorted { $0.name })
                #expect(photos.map { $0.image.first } == [1, 2] && photos.map { $0.thumbnail?.first } == [3, nil])
                let rows = try context.rows(Photo.where { $0.name == "b" })
                #expect(rows.map { $0.image.data?.first } == [2] && photos[1].id == id)
            }
        }
        try await stack.on("other") { context in
            try #require(try context.first(Photo.where { $0.name == "b" })).thumbnail = bytes(4, 10)
            try context.save()
        }
        let first = try await stack.on(.main) { try $0.fetch(Photo.sorted { $0.name }).map { $0.thumbnail?.first } }
        #expect(first == [3, 4])
        try await stack.commit(.main)
        let stored = try await stack.background { try $0.fetch(Photo.sorted { $0.name }).map { $0.thumbnail?.first } }
        #expect(stored == [3, 4])
        try await stack.close()
    }

    @Test("Bytes are read from the store on demand, and fetched rows do not contain them")
    func roundTrip() async throws {
        let stack = try await open()
        try await stack.background { context in
            context.insert(Photo(name: "a", image: bytes(1), thumbnail: bytes(2, 10)))
            context.insert(Photo(name: "b", image: Data()))
            try context.commit()
        }
        try await stack.background { context in
            let photos = try context.fetch(Photo.sorted { $0.name })
            let unread = photos.map { $0._$row.image.data }
            #expect(unread == [nil, nil])
            let images = photos.map(\.image)
            #expect(images == [bytes(1), Data()])
            let thumbnails = photos.map(\.thumbnail)
            #expect(thumbnails == [bytes(2, 10), nil])
            let changed = context.hasChanges
            #expect(!changed)
        }
        #expect(try stored(stack) == [1, 2, 0])
    }

    @Test("Children see unsaved bytes, parents see them after a save, and queries see whether there are any")
    func layers() async throws {
        let stack = try await open()
        try await stack.background { context in
            let photo = context.insert(Photo(name: "a", image: bytes(1)))
            context.insert(Photo(name: "b", image: bytes(2), thumbnail: bytes(3)))
            let without = try context.fetch(Photo.where { $0.thumbnail == nil }).map(\.name)
            let with = try context.fetch(Photo.where { $0.thumbnail != nil }).map(\.name)
            #expect(without == ["a"])
            #expect(with == ["b"])
            photo.thumbnail = bytes(4)
            try context.save()
            let id = photo.id
            let image = try await stack.on(.main) { main in try main.find(id)?.image.first }
            #expect(image == 1)
            #expect(try stored(stack) == [])
            try context.commit()
            #expect(try stored(stack) == [1, 4, 2, 3])
            let album = Album(title: "x")
            album.photos.insert(photo)
            let names = try context.fetch(Album.where { $0.photos.any { $0.thumbnail != nil } }).map(\.title)
            #expect(names == ["x"])
        }
    }

    @Test("Replacing bytes, setting them to nil or deleting the object removes them, also through a cascade")
    func lettingGo() async throws {
        let stack = try await open()
        try await stack.background { context in
            let album = context.insert(Album(title: "x"))
            for byte in UInt8(1)...3 {
                context.insert(Photo(name: "\(byte)", image: bytes(byte), thumbnail: bytes(byte + 10), album: album))
            }
            try context.commit()
            let photo = try #require(try context.first(Photo.where { $0.name == "1" }))
            photo.image = bytes(7)
            photo.thumbnail = nil
            try context.commit()
            #expect(try stored(stack).sorted() == [2, 3, 7, 12, 13])
            context.delete(try #require(try context.first(Photo.where { $0.name == "2" })))
            try context.commit()
            #expect(try stored(stack).sorted() == [3, 7, 13])
            context.delete(album)
            try context.commit()
            #expect(try stored(stack) == [])
        }
    }

    @Test("Setting the same bytes does not count as a change, and editing another property reads and writes no bytes")
    func sameBytes() async throws {
        let stack = try await openWithPhoto()
        try await stack.background { context in
            let photo = try #require(try context.first(Photo.all))
            photo.name = "b"
            try context.commit()
            let unread = photo._$row.image.data
            #expect(unread == nil)
            let image = photo.image
            photo.image = image
            let changed = photo.hasChanges
            #expect(!changed)
        }
        #expect(try stored(stack) == [1])
    }

    @Test("A snapshot includes the bytes, and shows them anywhere")
    func snapshot() async throws {
        let stack = try await openWithPhoto()
        let row = try await stack.background { context in try #require(try context.first(Photo.all)).snapshot }
        #expect(row.image.data == bytes(1))
        #expect(row.thumbnail == nil)
    }

    @Test("A block continues to read the bytes of its snapshot while other contexts replace them")
    func oldSnapshot() async throws {
        let stack = try await openWithPhoto()
        try await stack.background { context in
            let photo = try #require(try context.first(Photo.all))
            let id = photo.id
            let writer = Task.detached {
                try await stack.background(parent: .named(.root)) { other in
                    try #require(try other.find(id)).image = bytes(2)
                    try other.commit()
                }
            }
            try await writer.value
            let image = photo.image
            #expect(image == bytes(1))
        }
    }

    @Test(
        "A store reopens with its table and triggers, and the bytes move into the row if the model does",
        .aboutTheFile("migrates a store")
    )
    func schema() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let location = StoreLocation.sqlite(folder.appending(path: "photos.sqlite"))
        for name in ["a", "b"] {
            let stack = try await open(location, .rootOnly)
            try await stack.background { context in
                context.insert(Photo(name: name, image: bytes(1)))
                try context.commit()
                let images = try context.fetch(Photo.self).map(\.image)
                #expect(images.allSatisfy { $0 == bytes(1) })
            }
            try await stack.close()
        }
        let models: [any Model.Type] = [Inline.Photo.self, Inline.Album.self]
        let stack = try await ContextStack.open(location, models: models, stack: .rootOnly)
        let images = try await stack.background { try $0.fetch(Inline.Photo.self).map(\.image) }
        #expect(images == [bytes(1), bytes(1)])
        try await stack.close()
    }

    private enum KeptPhoto: ContextStateKey { typealias Value = Photo }

    /// A private context with undo that holds a photo of an earlier block. The bytes of the photo are not in memory.
    private func openWithKeptPhoto() async throws -> (stack: ContextStack, editor: ContextHandle) {
        let stack = try await openWithPhoto()
        let editor = try stack.create(.private, named: "editor")
        try await editor.perform { context in
            context.undoLevels = 5
            context.mergePolicy = .mine
            let photo = try #require(try context.first(Photo.all))
            context.state[KeptPhoto.self] = photo
        }
        return (stack, editor)
    }

    @Test("Undo restores bytes that others replace between an edit and its publication", arguments: [false, true])
    func undoOfReplaced(isDelete: Bool) async throws {
        let (stack, editor) = try await openWithKeptPhoto()
        // A failed comparison of the bytes themselves takes minutes.
        let isRestored = try await editor.perform { context in
            let photo = try #require(context.state[KeptPhoto.self])
            if isDelete { context.delete(photo) } else { photo.image = bytes(2) }
            // The edit is not published yet.
            try stack.meanwhile { other in try #require(try other.first(Photo.all)).image = bytes(3) }
            try context.commit()
            try context.undo()
            let isRestored = photo.image == bytes(1)
            try context.commit()
            return isRestored
        }
        let isStored = try await stack.background { try $0.first(Photo.all)?.image == bytes(1) }
        #expect(isRestored)
        #expect(isStored)
        try await stack.close()
    }

    @Test("Undo leaves bytes as they are if others had replaced the earlier ones before the edit")
    func undoOfLost() async throws {
        let (stack, editor) = try await openWithKeptPhoto()
        try await editor.perform { context in
            let photo = try #require(context.state[KeptPhoto.self])
            try stack.meanwhile { other in try #require(try other.first(Photo.all)).image = bytes(3) }
            photo.name = "edited"
            photo.image = bytes(2)
            try context.commit()
            try context.undo()
            let (name, image) = (photo.name, photo.image)
            #expect(name != "edited" && image == bytes(2))
        }
        try await stack.close()
    }

    @Test("Undo restores bytes that a commit has removed from the store", arguments: [false, true])
    func undo(isDelete: Bool) async throws {
        let stack = try await openWithPhoto(thumbnail: bytes(2, 10))
        try stack.create(.private, named: "editor")
        try await stack.on("editor") { context in
            context.undoLevels = 5
            // The bytes are not in memory.
            let photo = try #require(try context.first(Photo.all))
            if isDelete { context.delete(photo) } else { photo.image = bytes(3) }
            try context.commit()
        }
        #expect(try stored(stack) == (isDelete ? [] : [2, 3]))
        try await stack.on("editor") { context in
            try context.undo()
            let photo = try #require(try context.first(Photo.all))
            #expect(photo.image == bytes(1) && photo.thumbnail == bytes(2, 10))
            try await stack.background(parent: .named("editor")) { child in
                let image = try child.first(Photo.all)?.image
                #expect(image == bytes(1))
            }
            try context.commit()
        }
        #expect(try stored(stack) == [1, 2])
        let image = try await stack.background { try $0.first(Photo.all)?.image }
        #expect(image == bytes(1))
        try await stack.close()
    }

    @Test("A batch upsert is refused, and changes neither rows nor bytes")
    func upsert() async throws {
        let stack = try await openWithPhoto()
        try await stack.background { context in
            let rows = [Photo(name: "a", image: bytes(2)).snapshot, Photo(name: "b", image: bytes(3)).snapshot]
            let error = #expect(throws: StrataError.self) { try context.batchUpsert(rows, by: "name") }
            #expect(error?.code == .invalidQuery && error?.message.contains("external storage") == true)
            let names = try context.column(Photo.all, \.name)
            #expect(names == ["a"])
        }
        #expect(try stored(stack) == [1])
        try await stack.close()
    }

    @Test("The unread bytes of a row of another store are not looked up in this store")
    func rowsOfAnotherStore() async throws {
        let rows = try await openWithPhoto().background { try $0.rows(Photo.all) }
        #expect(rows[0].image.data == nil)
        let stack = try await open()
        try await stack.background { context in
            // These bytes have the same id number as the other store's bytes.
            context.insert(Photo(name: "b", image: bytes(7)))
            try context.commit()
            let error = #expect(throws: StrataError.self) { try context.batchInsert(rows) }
            #expect(error?.code == .invalidState)
            #expect(try context.column(Photo.all, \.name) == ["b"])
            // The bytes of a row of this store are read.
            var own = try context.rows(Photo.all)
            own[0].name = "c"
            try context.batchInsert(own)
            #expect(try context.first(Photo.where { $0.name == "c" })?.image == bytes(7))
        }
        try await stack.close()
    }
}
