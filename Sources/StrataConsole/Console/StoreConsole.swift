import Hummingbird
import Strata

/// A web console for one store.
///
/// ```swift
/// let console = StoreConsole(of: stack, options: ConsoleOptions(authentication: .token(token)))
/// console.addRoutes(to: router.group("console"))
/// ```
///
/// The console shows what its stack shows: queues if the stack was opened with `Pipeline.models`, and accounts if it
/// was opened with `CloudAccount.models`. Pages read committed rows only. The stack may be read-only. The application
/// closes the stack after the server has ended.
///
/// - Isolation: callable from anywhere.
public final class StoreConsole: Sendable {
    let options: ConsoleOptions
    let store: StoreAccess
    let access: ConsoleAccess
    let feed: CommitFeed
    let sampler: DepthSampler
    let notices = Notices()
    let refusedTokens = RefusedTokens()

    /// Creates a console.
    ///
    /// - Parameters:
    ///   - stack: the stack of the application, or one that was opened for the console.
    ///   - options: the authentication, and whether the store may be changed. Changes are refused in any case if the
    ///     stack is read-only.
    public init(of stack: ContextStack, options: ConsoleOptions) {
        self.options = options
        store = StoreAccess(stack, maximumReaders: options.maximumReaders, allowsChanges: options.allowsChanges)
        access = ConsoleAccess(options)
        sampler = DepthSampler(store)
        feed = CommitFeed(stack, maximumClients: options.maximumEventClients)
    }
}
