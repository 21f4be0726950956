import ExampleArguments
public import Foundation

/// Where the store of a repository is, if nobody says otherwise.
public enum StorePlace {
    /// `$XDG_DATA_HOME/strata-history/NAME-HASH.sqlite`, or under `~/.local/share`.
    ///
    /// - Parameter identity: what the history comes from; see ``Git/identity()``.
    public static func file(
        for identity: String,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> URL {
        let name = identity.split(separator: "/").last { $0 != ".git" } ?? ""
        return UserFolder.data.url(environment: environment).appending(path: "strata-history")
            .appending(path: UserFolder.fileName(name, or: "repository", key: identity))
    }
}
