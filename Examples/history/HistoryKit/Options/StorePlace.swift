import ExampleFolders
public import Foundation

/// The default location of a repository's store.
public enum StorePlace {
    /// `$XDG_DATA_HOME/strata-history/NAME-HASH.sqlite`, or the same path under `~/.local/share`.
    ///
    /// - Parameter identity: the origin of the history; see ``Git/identity()``.
    public static func file(
        for identity: String,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> URL {
        let name = identity.split(separator: "/").last { $0 != ".git" } ?? ""
        return UserFolder.data.url(environment: environment).appending(path: "strata-history")
            .appending(path: UserFolder.fileName(name, or: "repository", key: identity))
    }
}
