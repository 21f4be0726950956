import Foundation
import StrataCloud

extension Scenario {
    /// More files than one commit of a pull contains.
    private static let many = 1...210

    static let pull = Scenario(
        "pull",
        earlier: { cloud in
            for (index, name) in ["edited", "moved", "doomed", "folder/letter", "dressed"].enumerated() {
                try cloud.draft(index + 1, at: TreePath(parsing: "/" + name))
            }
        },
        others: { remote in
            for number in many { try await remote.write(100 + number, at: "many \(number)") }
            try await remote.createFolder(RemoteKey(["home", "theirs"]))
            try await remote.write(20, at: "theirs", "letter")
            try await remote.write(21, at: "edited")
            try await remote.write(22, at: "folder", "letter")
            try await remote.move(
                RemoteKey(["home", "moved"]),
                to: RemoteKey(["home", "theirs", "x"]),
                isFolder: false
            )
            try await remote.delete(RemoteKey(["home", "doomed"]), isFolder: false, if: .none)
        },
        pulls: true,
        remote: files(
            Dictionary(uniqueKeysWithValues: many.map { ("home/many \($0)", 100 + $0) }).merging([
                "home/edited": 21, "home/theirs/x": 2, "home/theirs/letter": 20, "home/folder/letter": 22,
                "home/dressed": 5,
            ]) { $1 },
            folders: ["home/folder", "home/theirs"]
        ),
        reports: many.map { "new /many \($0)" } + [
            "new /theirs", "new /theirs/letter", "modified header, data of /edited",
            "modified header, data of /folder/letter", "moved /moved to /theirs/x", "deleted /doomed",
        ],
        marks: many.map { "/many \($0)" } + ["/theirs/letter", "/edited", "/folder/letter"]
    )

    /// Another machine has put a child below a file.
    static let conversionByOthers = Scenario(
        "conversion by others",
        earlier: { try $0.draft(1, at: "/letter") },
        others: { remote in
            let file = RemoteKey(["home", "letter"])
            if let content = RemoteKey(found: ["home", "letter%payload"]) {
                try await remote.move(file, to: content, isFolder: false)
            }
            try await remote.createFolder(file)
            try await remote.write(2, at: "letter", "answer")
        },
        pulls: true,
        remote: [
            "home/letter/": Data(), "home/letter%payload": Bytes.data(1), "home/letter/answer": Bytes.data(2),
        ],
        reports: ["new /letter/answer"],
        marks: ["/letter/answer"]
    )

    /// A size in bytes: three chunks of a folder remote.
    private static let film = 600_000

    /// The pull marks new content in its commit, and the mark starts the download.
    static let download = Scenario(
        "download",
        earlier: { try $0.draft(1, at: "/edited") },
        others: { remote in
            try await remote.write(2, at: "edited")
            try await remote.write(3, at: "letter")
            try await remote.write(4, at: "film", size: film)
        },
        pulls: true,
        downloads: true,
        remote: files(["home/edited": 2, "home/letter": 3]).merging(["home/film": Bytes.data(4, size: film)]) { $1 },
        reports: ["modified header, data of /edited", "new /letter", "new /film"]
            + [("edited", Bytes.data(2)), ("letter", Bytes.data(3)), ("film", Bytes.data(4, size: film))].map {
                "downloaded data of /\($0), \(ScenarioHandler.print($1))"
            }
    )

    /// Encrypted files that another machine has written. The pull reads their headers, and the download decrypts them.
    static let opening = Scenario(
        "opening",
        earlier: { cloud in
            try cloud.draft(1, at: "/letter", sections: [.data, .metadata])
            try cloud.draft(2, at: "/film", size: film)
        },
        others: { remote in
            for name in ["letter", "film"] {
                let key = RemoteKey(["home", name])
                var bytes = Data()
                for try await chunk in try await remote.get(key, range: nil, if: .none).chunks { bytes += chunk }
                _ = try await remote.put(RemoteBody(bytes), at: key, if: .none)
            }
        },
        pulls: true,
        downloads: true,
        isEncrypted: true,
        remote: [
            "home/letter": Bytes.data(1), "home/letter%metadata": Bytes.metadata(1),
            "home/film": Bytes.data(2, size: film),
        ],
        reports: ["letter", "film"].map { "modified \(ContentSections.all) of /\($0)" }
            + [
                ("data of /letter", Bytes.data(1)), ("metadata of /letter", Bytes.metadata(1)),
                ("data of /film", Bytes.data(2, size: film)),
            ].map {
                "downloaded \($0), \(ScenarioHandler.print($1))"
            }
    )

    static let fetch = Scenario(
        "fetch",
        earlier: { cloud in
            try cloud.draft(1, at: "/letter")
            try cloud.draft(2, at: "/film", size: film)
        },
        fetches: ["/letter", "/film"],
        remote: files(["home/letter": 1]).merging(["home/film": Bytes.data(2, size: film)]) { $1 }
    )
}

extension FolderRemote {
    /// Writes a file as another machine does.
    fileprivate func write(_ seed: Int, at names: String..., size: Int = 100) async throws {
        _ = try await put(RemoteBody(Bytes.data(seed, size: size)), at: RemoteKey(["home"] + names), if: .none)
    }
}
