import Foundation

extension RecordedModels {
    /// The names of numbers that JSON does not have.
    private static let special = (infinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")

    /// The text under which a store keeps the declarations. Equal declarations have equal texts.
    var text: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            encoder.nonConformingFloatEncodingStrategy = .convertToString(
                positiveInfinity: Self.special.infinity,
                negativeInfinity: Self.special.negativeInfinity,
                nan: Self.special.nan
            )
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    /// Parses a text that ``text`` created.
    ///
    /// - Throws: ``StrataError`` with `newerStore` if a newer version of Strata has written the text; `damagedStore`.
    init(parsing text: String) throws {
        struct Form: Decodable { let form: Int }
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: Self.special.infinity,
            negativeInfinity: Self.special.negativeInfinity,
            nan: Self.special.nan
        )
        let data = Data(text.utf8)
        do {
            let form = try decoder.decode(Form.self, from: data).form
            guard form <= Self.currentForm else {
                throw StrataError(
                    .newerStore,
                    "The declarations of the models in the store were recorded by a newer version of Strata (form "
                        + "\(form), this version supports \(Self.currentForm)). Use that version."
                )
            }
            self = try decoder.decode(RecordedModels.self, from: data)
        } catch let error as StrataError {
            throw error
        } catch {
            throw StrataError(
                .damagedStore,
                "The declarations of the models in the store cannot be read. Open the store once with its program, "
                    + "which records them again.",
                underlying: error
            )
        }
    }
}
