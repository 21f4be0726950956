import TestHomeTraits
import Testing

@testable import Strata

/// A tour whose stops have an order.
enum Tour {
    @Model final class Route {
        var name: String
        @Relationship(inverse: \Stop.route, ordered: true) var stops: Many<Stop>
    }

    @Model final class Stop {
        var name: String
        var route: Route?
    }

    static let models: [any Model.Type] = [Route.self, Stop.self]
}

@Suite(
    "Ordered members whose owner is not opened",
    .aboutTheFile("opens some of the models, which a store with a home refuses"),
    .timeLimit(.minutes(1))
) struct UnopenedOrderTests {
    /// The stops of the route, in their order.
    private static func stops(_ context: ObjectContext) throws -> [String] {
        try #require(try context.first(Tour.Route.all)).stops.fetch().map(\.name)
    }

    private static func stop(_ name: String, _ context: ObjectContext) throws -> Tour.Stop {
        try #require(try context.first(Tour.Stop.where { $0.name == name }))
    }

    @Test("A member leaves and joins again although its owner's order is not opened, and its delete is refused")
    func order() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("tour.sqlite")
        let all = try await ContextStack.open(.sqlite(url), models: Tour.models, stack: .rootOnly)
        try await all.background { context in
            let route = context.insert(Tour.Route(name: "north"))
            for name in ["a", "b", "c"] { route.stops.insert(context.insert(Tour.Stop(name: name))) }
            try context.commit()
        }
        let some = try await ContextStack.open(
            .sqlite(url),
            models: [Tour.Stop.self],
            stack: .rootOnly,
            configuration: StoreConfiguration(allowsUnopenedModels: true)
        )
        try await some.background { context in
            try Self.stop("b", context).route = nil
            try context.commit()
        }
        let left = try await all.background { context in try Self.stops(context) }
        #expect(left == ["a", "c"])
        let joined = try await all.background { context in
            let stop = try Self.stop("b", context)
            try #require(try context.first(Tour.Route.all)).stops.insert(stop)
            try context.commit()
            return try Self.stops(context)
        }
        #expect(joined == ["a", "c", "b"])
        try await some.background { context in
            context.delete(try Self.stop("a", context))
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .unopenedModel)
            #expect(error?.details.map(\.model) == ["Route"])
        }
        let kept = try await all.background { context in try Self.stops(context) }
        #expect(kept == ["a", "c", "b"])
        try await some.close()
        try await all.close()
    }
}
