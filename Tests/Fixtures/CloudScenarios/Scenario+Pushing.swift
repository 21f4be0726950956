import Foundation
import StrataCloud

extension Scenario {
    private static let sidecars: ContentSections = [.data, .metadata, .thumbnail]

    static let upload = Scenario(
        "upload",
        change: { try $0.draft(1, at: "/letter", sections: sidecars) },
        remote: files(["home/letter": 1], sidecars: true),
        reports: ["uploaded metadata, thumbnail, data of /letter"]
    )

    static let replacement = Scenario(
        "replacement",
        earlier: { try $0.draft(1, at: "/letter", sections: sidecars) },
        change: { try $0.edit("/letter", seed: 2, sections: sidecars) },
        remote: files(["home/letter": 2], sidecars: true),
        reports: ["uploaded metadata, thumbnail, data of /letter"]
    )

    static let parts = Scenario(
        "parts",
        earlier: { try $0.draft(1, at: "/known", size: large) },
        change: { cloud in
            try cloud.edit("/known", seed: 2)
            try cloud.draft(3, at: "/new", size: large)
        },
        remote: ["home/known": Bytes.data(2, size: large), "home/new": Bytes.data(3, size: large)],
        reports: ["uploaded data of /known", "uploaded data of /new"]
    )

    static let folders = Scenario(
        "folders",
        change: { cloud in
            try cloud.draft(1, at: "/a/b/letter")
            try cloud.createFolder(at: "/a/empty")
            try cloud.draft(2, at: "inbox:/message")
        },
        remote: files(["home/a/b/letter": 1, "inbox/message": 2], folders: ["home/a", "home/a/b", "home/a/empty"]),
        reports: ["uploaded data of /a/b/letter", "uploaded data of inbox:/message"]
    )

    /// A file gets its first child: it becomes a folder, and its content moves beside the folder.
    static let conversion = Scenario(
        "conversion",
        earlier: { try $0.draft(1, at: "/letter", sections: sidecars) },
        change: { cloud in
            try cloud.draft(2, at: "/letter/answer")
            try cloud.draft(3, at: "/letter/answer/again")
        },
        remote: [
            "home/letter/": Data(), "home/letter%payload": Bytes.data(1), "home/letter%metadata": Bytes.metadata(1),
            "home/letter%thumbnail": Bytes.thumbnail(1), "home/letter/answer/": Data(),
            "home/letter/answer%payload": Bytes.data(2), "home/letter/answer/again": Bytes.data(3),
        ],
        reports: ["uploaded data of /letter/answer", "uploaded data of /letter/answer/again"]
    )

    static let move = Scenario(
        "move",
        earlier: { cloud in
            try cloud.draft(1, at: "/old/inner/letter", sections: sidecars)
            try cloud.draft(2, at: "/single", sections: sidecars)
        },
        change: { cloud in
            try cloud.move(cloud.node(at: "/old"), to: "/new/place")
            try cloud.move(cloud.node(at: "/single"), to: "/new/moved")
        },
        remote: files(
            ["home/new/place/inner/letter": 1, "home/new/moved": 2],
            sidecars: true,
            folders: ["home/new", "home/new/place", "home/new/place/inner"]
        )
    )

    static let copy = Scenario(
        "copy",
        earlier: { cloud in
            try cloud.draft(1, at: "/folder/letter")
            try cloud.draft(2, at: "/single")
        },
        change: { cloud in
            try cloud.copy(cloud.node(at: "/folder"), to: "/copy")
            try cloud.copy(cloud.node(at: "/single"), to: "/copy/single")
        },
        remote: files(
            ["home/folder/letter": 1, "home/copy/letter": 1, "home/single": 2, "home/copy/single": 2],
            folders: ["home/folder", "home/copy"]
        )
    )

    static let delete = Scenario(
        "delete",
        earlier: { cloud in
            try cloud.draft(1, at: "/folder/inner/letter", sections: sidecars)
            try cloud.draft(2, at: "/folder/other")
            try cloud.draft(3, at: "/single", sections: sidecars)
            try cloud.draft(4, at: "/stays")
        },
        change: { cloud in
            try cloud.delete(cloud.node(at: "/folder"))
            try cloud.delete(cloud.node(at: "/single"))
        },
        remote: files(["home/stays": 4])
    )

    static let messages = Scenario(
        "messages",
        earlier: { try $0.draft(1, at: "/letter") },
        change: { cloud in
            try cloud.draft(2, at: "/new")
            try cloud.send(cloud.node(at: "/letter"), to: ["bob"])
            try cloud.send(cloud.node(at: "/new"), to: ["bob"])
            try cloud.delete(cloud.node(at: "/letter"))
            let draft = cloud.context.insert(Draft(seed: 3, size: large))
            try cloud.send("greeting.txt", content: draft.id, to: ["bob", "carol"])
        },
        messages: [Bytes.data(1), Bytes.data(2), Bytes.data(3, size: large), Bytes.data(3, size: large)],
        remote: files(["home/new": 2]),
        reports: ["uploaded data of /new"]
    )

    /// Encrypted content: a replacement of an existing file, and an upload in parts.
    static let sealed = Scenario(
        "sealed",
        earlier: { try $0.draft(1, at: "/letter", sections: sidecars) },
        change: { cloud in
            try cloud.edit("/letter", seed: 2, sections: sidecars)
            try cloud.draft(3, at: "/large", size: large)
        },
        isEncrypted: true,
        remote: files(["home/letter": 2], sidecars: true).merging(["home/large": Bytes.data(3, size: large)]) { $1 },
        reports: ["uploaded data of /large", "uploaded metadata, thumbnail, data of /letter"]
    )

    /// All kinds of changes in one commit, while another machine changes the remote.
    static let everything = Scenario(
        "everything",
        earlier: { cloud in
            for (index, name) in ["edited", "folder/moved", "doomed/a", "doomed/b", "others"].enumerated() {
                try cloud.draft(index + 1, at: TreePath(parsing: "/" + name))
            }
        },
        others: { remote in
            _ = try await remote.put(RemoteBody(Bytes.data(20)), at: RemoteKey(["home", "theirs"]), if: .isAbsent)
            _ = try await remote.put(RemoteBody(Bytes.data(21)), at: RemoteKey(["home", "others"]), if: .none)
        },
        change: { cloud in
            try cloud.edit("/edited", seed: 10)
            try cloud.move(cloud.node(at: "/folder"), to: "/moved folder")
            try cloud.delete(cloud.node(at: "/doomed"))
            try cloud.draft(11, at: "/moved folder/new", sections: [.data, .metadata])
            try cloud.copy(cloud.node(at: "/moved folder/moved"), to: "/copy")
        },
        pulls: true,
        remote: files(
            [
                "home/edited": 10, "home/moved folder/moved": 2, "home/moved folder/new": 11, "home/copy": 2,
                "home/theirs": 20, "home/others": 21,
            ],
            folders: ["home/moved folder"]
        ).merging(["home/moved folder/new%metadata": Bytes.metadata(11)]) { $1 },
        reports: [
            "uploaded data of /edited", "uploaded metadata, data of /moved folder/new", "new /theirs",
            "modified header, data of /others",
        ],
        marks: ["/others", "/theirs"]
    )

    // MARK: Expectations

    /// Files of 100 bytes by their paths and seeds. Each path begins with its trunk.
    static func files(_ seeds: [String: Int], sidecars: Bool = false, folders: [String] = []) -> [String: Data] {
        var files: [String: Data] = [:]
        for (path, seed) in seeds {
            files[path] = Bytes.data(seed)
            guard sidecars else { continue }
            files[path + "%metadata"] = Bytes.metadata(seed)
            files[path + "%thumbnail"] = Bytes.thumbnail(seed)
        }
        for folder in folders { files[folder + "/"] = Data() }
        return files
    }
}
