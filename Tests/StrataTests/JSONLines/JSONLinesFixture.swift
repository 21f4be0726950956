import Foundation
import Testing

@testable import Strata

@Model final class Playlist {
    var name: String
    @Relationship(inverse: \Song.playlist, ordered: true) var songs: Many<Song>
    @Relationship(inverse: \Label.playlists, ordered: true) var labels: Many<Label>
    @Relationship(inverse: \Jacket.playlist) var jacket: Jacket?
}

@Model final class Song {
    @Attribute(.unique) var name: String
    var plays: Int = 7
    var model: String?
    var playlist: Playlist?
    @Relationship(inverse: \Song.followers) var follows: Many<Song>
    var followers: Many<Song>
}

@Model final class Label {
    var name: String
    @Relationship(ordered: true) var playlists: Many<Playlist>
}

@Model final class Jacket {
    var name: String
    @Attribute(.externalStorage) var image: Data?
    var playlist: Playlist?
}

/// Stores of objects that are identified by their names, and the content of their lines.
enum JSONLinesFixture {
    static let models: [any Model.Type] = [Playlist.self, Song.self, Label.self, Jacket.self]

    static func open(_ models: [any Model.Type] = models) async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: models, stack: .rootOnly)
    }

    static func lines(_ stack: ContextStack, of models: [any Model.Type]? = nil) async throws -> [String] {
        var lines: [String] = []
        for try await line in stack.jsonLines(of: models) { lines.append(line) }
        return lines
    }

    /// The sorted content of lines, with the names of objects in place of their ids.
    static func content(_ lines: [String], name: String = "name") throws -> [String] {
        let objects = try lines.map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        var names: [String: String] = [:]
        for object in objects {
            let id = try #require(object["$id"] as? String)
            names[id] = "\(object["$model"] ?? "") \(object[name] ?? "")"
        }
        return try objects.map { object in
            var named = object.mapValues { value -> Any in
                if let text = value as? String { return names[text] ?? text }
                if let texts = value as? [String] { return texts.map { names[$0] ?? $0 } }
                return value
            }
            // These members are unordered.
            for key in ["follows", "badges"] {
                if let members = named[key] as? [String] { named[key] = members.sorted() }
            }
            return String(
                decoding: try JSONSerialization.data(withJSONObject: named, options: .sortedKeys),
                as: UTF8.self
            )
        }.sorted()
    }

    static func content(_ stack: ContextStack) async throws -> [String] { try content(try await lines(stack)) }

    /// A playlist of three songs in a custom order, with labels and a jacket.
    static func fill(_ stack: ContextStack) async throws {
        try await stack.background { context in
            let list = context.insert(Playlist(name: "list"))
            let other = context.insert(Playlist(name: "other"))
            let songs = ["c", "a", "b"].map { context.insert(Song(name: $0)) }
            for song in songs.reversed() { list.songs.insert(song) }
            songs[0].follows.insert(songs[1])
            songs[1].follows.insert(songs[2])
            songs[2].follows.insert(songs[0])
            songs[0].model = "m"
            let labels = ["x", "y"].map { context.insert(Label(name: $0)) }
            labels[1].playlists.insert(other)
            labels[1].playlists.insert(list)
            list.labels.insert(labels[0])
            other.labels.insert(labels[0])
            let jacket = context.insert(Jacket(name: "jacket", image: Data([0, 255, 1]), playlist: list))
            context.insert(Jacket(name: "bare"))
            _ = jacket
            try context.commit()
        }
    }
}
