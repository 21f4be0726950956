import Metrics

/// Creates metrics with common dimensions.
///
/// Isolation: any.
package struct MetricsSource: Sendable {
    private let factory: any MetricsFactory
    private let dimensions: [(String, String)]

    init(_ factory: any MetricsFactory, dimensions: [(String, String)]) {
        self.factory = factory
        self.dimensions = dimensions
    }

    /// A source whose metrics have one more dimension.
    package func adding(_ dimension: (String, String)) -> MetricsSource {
        MetricsSource(factory, dimensions: dimensions + [dimension])
    }

    /// A counter, with further dimensions.
    package func counter(_ name: MetricName, _ more: (String, String)...) -> Counter {
        Counter(label: name.rawValue, dimensions: dimensions + more, factory: factory)
    }

    /// A timer, with further dimensions.
    package func timer(_ name: MetricName, _ more: (String, String)...) -> Metrics.Timer {
        Metrics.Timer(label: name.rawValue, dimensions: dimensions + more, factory: factory)
    }

    /// A gauge.
    package func gauge(_ name: MetricName) -> Gauge {
        Gauge(label: name.rawValue, dimensions: dimensions, factory: factory)
    }
}
