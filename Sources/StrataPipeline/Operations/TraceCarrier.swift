import Foundation
import Strata
import Tracing

/// The fields with which a tracer passes a trace on, such as `traceparent`, and their stored text.
struct TraceCarrier: Sendable {
    private struct Field: Sendable, Codable {
        let key: String
        var value: String
    }

    private var fields: [Field] = []

    /// Takes the fields of a trace from a tracer.
    init(_ trace: ServiceContext, of tracer: any Tracer) {
        tracer.inject(trace, into: &self, using: TraceFieldAccess())
    }

    /// Reads the text that ``text`` has made; nil if the text is not of this form.
    init?(text: String) {
        guard let fields = try? StoredJSON.decoder.decode([Field].self, from: Data(text.utf8)) else { return nil }
        self.fields = fields
    }

    /// The text to store; nil without fields.
    var text: String? {
        if fields.isEmpty { return nil }
        return (try? StoredJSON.encoder.encode(fields)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The trace, as a tracer reads it; nil if the tracer knows none of the fields.
    func trace(by tracer: any Tracer) -> ServiceContext? {
        var trace = ServiceContext.topLevel
        tracer.extract(self, into: &trace, using: TraceFieldAccess())
        return trace.isEmpty ? nil : trace
    }

    /// The value of a field. Tracers ask for names in lower case, and may have set them in another case.
    fileprivate subscript(key: String) -> String? {
        get { fields.first { $0.key.lowercased().hasSameBytes(as: key.lowercased()) }?.value }
        set {
            fields.removeAll { $0.key.lowercased().hasSameBytes(as: key.lowercased()) }
            if let newValue { fields.append(Field(key: key, value: newValue)) }
        }
    }
}

/// Sets and reads the fields of a ``TraceCarrier`` for a tracer.
struct TraceFieldAccess: Injector, Extractor {
    func inject(_ value: String, forKey key: String, into carrier: inout TraceCarrier) { carrier[key] = value }

    func extract(key: String, from carrier: TraceCarrier) -> String? { carrier[key] }
}

extension QueuedOperation {
    /// Stores the running trace with the operation, so that the spans of its attempts can link to it.
    ///
    /// Without a tracer, this costs one branch, and nothing is stored.
    func storeTrace(in context: ObjectContext) {
        guard let tracer = context.tracer, id.isAssigned, let trace = ServiceContext.current,
            let text = TraceCarrier(trace, of: tracer).text
        else { return }
        context.insert(OperationTrace(carrier: text), with: self)
    }
}
