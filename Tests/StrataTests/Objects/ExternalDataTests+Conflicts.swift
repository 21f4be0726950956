import Foundation
import Testing

@testable import Strata

/// Failed commits, conflicts about bytes, and bytes that the store does not have any more.
extension ExternalDataTests {
    @Test("A failed commit leaves the bytes unsaved, and the next one writes them")
    func failedCommit() async throws {
        let stack = try await openWithPhoto()
        try await stack.background { context in
            let photo = context.insert(Photo(name: "b", image: bytes(2)))
            try await stack.background(parent: .named(.root)) { other in
                other.insert(Photo(name: "b", image: bytes(3)))
                try other.commit()
            }
            #expect(throws: StrataError.self) { try context.commit() }
            #expect(try stored(stack) == [1, 3])
            photo.name = "c"
            try context.commit()
            #expect(try stored(stack) == [1, 3, 2])
            let image = photo.image
            #expect(image == bytes(2))
        }
    }

    @Test("Two contexts that set the bytes conflict, and bytes that a policy discards leave nothing in the store")
    func conflicts() async throws {
        let stack = try await open()
        let id = try await stack.background { context in
            let photo = context.insert(Photo(name: "a", image: bytes(1), thumbnail: bytes(2)))
            try context.commit()
            return photo.id
        }
        try await stack.background { context in
            context.mergePolicy = .theirs
            let photo = try #require(try context.find(id))
            photo.image = bytes(5)
            photo.name = "mine"
            try await stack.background(parent: .named(.root)) { other in
                try #require(try other.find(id)).image = bytes(6)
                try other.commit()
            }
            try context.commit()
            let values = (photo.name, photo.image.first, photo.thumbnail?.first)
            #expect(values == ("mine", 6, 2))
            #expect(try stored(stack).sorted() == [2, 6])
        }
        try await stack.background { context in
            try #require(try context.find(id)).image = bytes(7)
            try await stack.background(parent: .named(.root)) { other in
                try #require(try other.find(id)).image = bytes(8)
                try other.commit()
            }
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .conflict)
            #expect(error?.details.map(\.column) == ["image"])
            #expect(try stored(stack).sorted() == [2, 8])
            context.mergePolicy = .mine
            try context.commit()
            #expect(try stored(stack).sorted() == [2, 7])
        }
    }

    @Test("A row that another context has deleted comes back with its bytes under .mine, or not at all")
    func broughtBack() async throws {
        let stack = try await open()
        let ids = try await stack.background { context in
            let photos = ["a", "b"].map { context.insert(Photo(name: $0, image: bytes(1), thumbnail: bytes(2))) }
            try context.commit()
            return photos.map(\.id)
        }
        nonisolated(nonsending) func edit(
            _ id: ObjectID<Photo>,
            reading: Bool,
            _ context: ObjectContext
        ) async throws -> Photo {
            let photo = try #require(try context.find(id))
            photo.name += "!"
            if reading { _ = (photo.image, photo.thumbnail) }
            try await stack.background(parent: .named(.root)) { other in
                other.delete(try #require(try other.find(id)))
                try other.commit()
            }
            return photo
        }
        try await stack.background { context in
            context.mergePolicy = .mine
            let photo = try await edit(ids[0], reading: true, context)
            try context.commit()
            let values = (photo.name, photo.image, photo.thumbnail)
            #expect(values == ("a!", bytes(1), bytes(2, 100_000)))
        }
        #expect(try stored(stack).sorted() == [1, 1, 2, 2])
        try await stack.background { context in
            context.mergePolicy = .mine
            let photo = try await edit(ids[1], reading: false, context)
            for step in [context.save, context.commit] {
                let error = #expect(throws: StrataError.self) { try step() }
                #expect(error?.code == .conflict)
                #expect(error?.message.contains("bytes") == true)
            }
            context.rollback([photo])
            try context.commit()
        }
        #expect(try stored(stack).sorted() == [1, 2])
    }

    @Test("A row that a parent has deleted, and a child brings back, keeps its bytes")
    func broughtBackBelow() async throws {
        let stack = try await open()
        let id = try await stack.background { context in
            let photo = context.insert(Photo(name: "a", image: bytes(1), thumbnail: bytes(2)))
            try context.commit()
            return photo.id
        }
        try await stack.background(parent: .named(.main)) { context in
            context.mergePolicy = .mine
            let photo = try #require(try context.find(id))
            photo.name = "again"
            photo.thumbnail = bytes(3)
            try await stack.on(.main) { main in main.delete(try #require(try main.find(id))) }
            try context.save()
        }
        try await stack.commit(.main)
        #expect(try stored(stack).sorted() == [1, 3])
        try await stack.background { context in
            let photo = try #require(try context.find(id))
            let values = (photo.name, photo.image, photo.thumbnail)
            #expect(values == ("again", bytes(1), bytes(3)))
        }
    }

    @Test("Bytes that are missing from the file read as nil, and the failure is reported")
    func lost() async throws {
        let stack = try await openWithPhoto(thumbnail: bytes(2))
        try stack.core.engine.write { connection in
            try connection.execute("DELETE FROM strata_data")
            return []
        }
        var failures = stack.failures.makeAsyncIterator()
        try await stack.background { context in
            let photo = try #require(try context.first(Photo.all))
            let values = (photo.image, photo.thumbnail)
            #expect(values == (Data(), nil))
        }
        let failure = await failures.next()
        #expect((failure?.error as? StrataError)?.code == .damagedStore)
    }

    @Test("A committed delete removes the bytes even if the object comes back; reading or saving them is a conflict")
    func goneWithDelete() async throws {
        let stack = try await openWithPhoto(thumbnail: bytes(2))
        let id = try await stack.on(.root) { try #require(try $0.first(Photo.all)).id }
        let parent = try stack.create(.private, named: "parent")
        let child = try await parent.perform { _ in try stack.create(.private, named: "child") }
        try await child.perform { try #require(try $0.find(id)).name = "b" }
        try await stack.on(.root) { context in context.delete(try #require(try context.find(id))) }
        try await child.perform { context in
            context.mergePolicy = .mine
            try context.save()
        }
        try await stack.on(.root) { try $0.commit() }

        let failures = stack.failures
        let (name, thumbnail) = try await parent.perform { context in
            let photo = try #require(try context.find(id))
            return (photo.name, photo.thumbnail)
        }
        #expect(name == "b" && thumbnail == nil)
        try await parent.perform { context in
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .conflict)
            let photo = try #require(try context.find(id))
            (photo.image, photo.thumbnail) = (bytes(3), bytes(4))
            try context.commit()
        }
        let stored = try await stack.on(.root) { try $0.first(Photo.all).map { [$0.image, $0.thumbnail] } }
        #expect(stored == [bytes(3), bytes(4)])
        try await stack.close()
        var codes: [StrataError.Code?] = []
        for await failure in failures { codes.append((failure.error as? StrataError)?.code) }
        #expect(codes == [.conflict])
    }

    @Test("Bytes that are gone with their row are a conflict, also if the layers do not know of the delete")
    func goneWithUnknownDelete() async throws {
        let stack = try await openWithPhoto(thumbnail: bytes(2))
        let editor = try stack.create(.private, named: "editor")
        let id = try await editor.perform { context in
            let photo = try #require(try context.first(Photo.all))
            photo.name = "b"
            return photo.id
        }
        // A delete that the history does not contain.
        try stack.core.engine.write { connection in
            try connection.execute("DELETE FROM Photo")
            return []
        }
        let failures = stack.failures
        let (name, thumbnail) = try await editor.perform { context in
            let photo = try #require(try context.find(id))
            return (photo.name, photo.thumbnail)
        }
        #expect(name == "b" && thumbnail == nil)
        try await editor.perform { $0.rollback() }
        try await stack.close()
        var codes: [StrataError.Code?] = []
        for await failure in failures { codes.append((failure.error as? StrataError)?.code) }
        #expect(codes == [.conflict])
    }
}
