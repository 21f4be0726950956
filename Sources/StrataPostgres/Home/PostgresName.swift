import Strata

/// The names of tables and columns in PostgreSQL.
///
/// They are the names in the store, if PostgreSQL can have them. Otherwise they have a hash of the name at their end: a
/// name over 63 bytes, which PostgreSQL would cut, and a name that PostgreSQL or Strata uses itself.
enum PostgresName {
    /// The maximum length of a name in bytes. A server that was compiled with another one is not supported.
    static let maxBytes = 63

    private static let tables: Set<UTF8Text> = ["strata_home", "strata_ids", "strata_feed", "strata_nodes"]
    private static let systemColumns: Set<UTF8Text> = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"]

    static func table(_ name: String) -> String { allowed(name, except: tables) }

    static func column(_ name: String) -> String { allowed(name, except: systemColumns) }

    private static func allowed(_ name: String, except used: Set<UTF8Text>) -> String {
        if (1...maxBytes).contains(name.utf8.count), !used.contains(UTF8Text(name)) { return name }
        let suffix = "_" + hash(name)
        var start = ""
        for scalar in name.unicodeScalars {
            guard start.utf8.count + String(scalar).utf8.count + suffix.utf8.count <= maxBytes else { break }
            start.unicodeScalars.append(scalar)
        }
        return start + suffix
    }

    /// The 64 bits of FNV-1a over the bytes, as hexadecimal digits. The hash is the same in all versions of Strata.
    private static func hash(_ name: String) -> String {
        let hash = name.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        return String(hash, radix: 16)
    }
}
