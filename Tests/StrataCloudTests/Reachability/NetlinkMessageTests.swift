#if os(Linux)
    import CStrataNetlink
    import Foundation
    import Testing

    @testable import StrataReachability

    /// Messages of a kernel about a network with two pairs of virtual cables, one of which is down. They lack the
    /// attributes that the parser ignores.
    @Suite struct NetlinkMessageTests {
        private static let links = """
            2800000010000200010000000000000000000403010000004900010000000000070003006c6f000028000000100002000100000000000000
            0000010002000000431001000000000008000300666172002800000010000200010000000000000000000100030000004310010000000000
            0800030077616e002c000000100002000100000000000000000001000400000002100000000000000a000300646f776e310000002c000000
            100002000100000000000000000001000500000002100000000000000a000300646f776e3000000014000000030002000100000000000000
            00000000
            """
        private static let addresses = """
            38000000140002000100000000000000020880fe01000000080001007f000001080002007f000001070003006c6f00000800080080000000
            38000000140002000100000000000000021880000300000008000100c000020508000200c00002050800030077616e000800080080000000
            3c0000001400020001000000000000000218800005000000080001000a090001080002000a0900010a000300646f776e3000000008000800
            80000000340000001400020001000000000000000a8080fe0100000014000100000000000000000000000000000000010800080080000000
            340000001400020001000000000000000a40c0fd0200000014000100fe80000000000000f818ebfffe7822a908000800c000000034000000
            1400020001000000000000000a408200030000001400010020010db800000000000000000000000508000800820000003400000014000200
            01000000000000000a40c0fd0300000014000100fe80000000000000606692fffe84b13608000800c0000000140000000300020001000000
            0000000000000000
            """
        private static let routes = """
            3400000018000200010000000000000002000000fe0300010000000008000f00fe00000008000500c0000201080004000300000034000000
            18000200010000000000000002180000fe02fd010000000008000f00fe00000008000100c000020008000400030000005000000018000200
            010000000000000002180000fe0300010000000008000f00fe00000008000100c633640024000900100000000300000008000500c0000202
            100000000300000008000500c00002032c00000018000200010000000000000002180000fe0300070000000008000f00fe00000008000100
            cb0071003400000018000200010000000000000002200000ff02fe020000000008000f00ff000000080001000a0900010800040005000000
            3400000018000200010000000000000002080000ff02fe020000000008000f00ff000000080001007f000000080004000100000034000000
            18000200010000000000000002200000ff02fe020000000008000f00ff000000080001007f00000108000400010000003400000018000200
            010000000000000002200000ff02fd030000000008000f00ff000000080001007fffffff0800040001000000340000001800020001000000
            0000000002200000ff02fe020000000008000f00ff00000008000100c0000205080004000300000034000000180002000100000000000000
            02200000ff02fd030000000008000f00ff00000008000100c00002ff0800040003000000480000001800020001000000000000000a400000
            fe0200010000000008000f00fe0000001400010020010db80000000000000000000000000800060000010000080004000300000048000000
            1800020001000000000000000a300000fe0300060000000008000f00fe0000001400010020010db8dead0000000000000000000008000600
            000400000800040001000000480000001800020001000000000000000a400000fe0200010000000008000f00fe00000014000100fe800000
            00000000000000000000000008000600000100000800040002000000480000001800020001000000000000000a400000fe02000100000000
            08000f00fe00000014000100fe80000000000000000000000000000008000600000100000800040003000000480000001800020001000000
            000000000a000000fe0300010000000008000f00fe00000008000600000200001400050020010db800000000000000000000000108000400
            03000000480000001800020001000000000000000a800000ff0200020000000008000f00ff00000014000100000000000000000000000000
            0000000108000600000000000800040001000000480000001800020001000000000000000a800000ff0200020000000008000f00ff000000
            1400010020010db800000000000000000000000508000600000000000800040003000000480000001800020001000000000000000a080000
            ff0200050000000008000f00ff00000014000100ff0000000000000000000000000000000800060000010000080004000200000048000000
            1800020001000000000000000a080000ff0200050000000008000f00ff00000014000100ff00000000000000000000000000000008000600
            0001000008000400030000001400000003000200010000000000000000000000
            """

        private static func bytes(_ text: String) -> [UInt8] {
            let digits = Array(text.filter { !$0.isWhitespace })
            return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0..<$0 + 2]), radix: 16) }
        }

        private static var state: NetworkState {
            var state = NetworkState()
            for text in [links, addresses, routes] {
                for message in NetlinkMessage.all(in: bytes(text)[...]) {
                    state.add(message, LinkClassifier(folder: "/nowhere"))
                }
            }
            return state
        }

        @Test("Links are parsed")
        func linkMessages() {
            let messages = NetlinkMessage.all(in: Self.bytes(Self.links)[...])
            #expect(
                messages == [
                    .link(index: 1, name: "lo", hardware: 772, isUp: true),
                    .link(index: 2, name: "far", hardware: 1, isUp: true),
                    .link(index: 3, name: "wan", hardware: 1, isUp: true),
                    .link(index: 4, name: "down1", hardware: 1, isUp: false),
                    .link(index: 5, name: "down0", hardware: 1, isUp: false), .done,
                ]
            )
        }

        @Test("Addresses are parsed, except those that may still have duplicates")
        func addressMessages() throws {
            let addresses = Set(Self.state.addresses)
            let expected: [(Int32, String)] = [
                (1, "127.0.0.1"), (3, "192.0.2.5"), (5, "10.9.0.1"), (1, "::1"), (3, "2001:db8::5"),
            ]
            #expect(addresses == Set(try expected.map { .init(link: $0, address: try #require(NetworkAddress($1))) }))
        }

        @Test("Routes are parsed")
        func routeMessages() throws {
            let state = Self.state
            let expected: [(String, ReachabilityStatus)] = [
                ("example.com", .reachable(.wired)), ("198.51.100.9", .reachable(.wired)),
                ("203.0.113.1", .unreachable),
                ("2001:db8:dead::1", .unreachable), ("2001:db8:beef::1", .reachable(.wired)),
                ("192.0.2.5", .reachable(.loopback)),
                ("10.9.0.1", .reachable(.loopback)), ("2001:db8::5", .reachable(.loopback)),
                ("10.9.0.2", .reachable(.wired)),
            ]
            for (host, status) in expected { #expect(state.status(to: NetworkTarget(host: host)) == status, "\(host)") }
            #expect(state.routes.contains { $0.links == [3, 3] && $0.bits == 24 })
            #expect(state.routes.contains { $0.family == .v6 && $0.bits == 0 && $0.metric == 512 })
        }

        @Test("Truncated and damaged messages do no harm")
        func damagedMessages() {
            for text in [Self.links, Self.addresses, Self.routes] {
                let bytes = Self.bytes(text)
                for count in 0..<bytes.count { _ = NetlinkMessage.all(in: bytes.prefix(count)) }
                for index in bytes.indices {
                    for value: UInt8 in [0, 1, 3, 0x7F, 0xFF] {
                        var changed = bytes
                        changed[index] = value
                        _ = NetlinkMessage.all(in: changed[...])
                    }
                }
            }
        }

        @Test("Errors and ends of lists are distinguished")
        func errorsAndEnds() {
            func message(_ type: Int, _ body: [UInt8], flags: UInt16 = 0) -> [UInt8] {
                var header = nlmsghdr()
                header.nlmsg_len = UInt32(16 + body.count)
                header.nlmsg_type = UInt16(type)
                header.nlmsg_flags = flags
                return withUnsafeBytes(of: header) { Array($0) } + body
            }
            let refused = message(Int(NLMSG_ERROR), withUnsafeBytes(of: -Int32(EPERM)) { Array($0) })
            #expect(NetlinkMessage.all(in: refused[...]) == [.error(EPERM)])
            let interrupted = message(Int(NLMSG_DONE), [0, 0, 0, 0], flags: UInt16(NLM_F_DUMP_INTR))
            #expect(NetlinkMessage.all(in: interrupted[...]) == [.interrupted, .done])
            #expect(NetlinkMessage.all(in: message(9999, [1, 2, 3, 4])[...]) == [.ignored])
        }

        @Test("The kinds of links match those of the system")
        func linkKinds() throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "links-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            for (name, text) in [
                ("eth0", "INTERFACE=eth0\nIFINDEX=2\n"), ("wlan0", "DEVTYPE=wlan\nINTERFACE=wlan0\n"),
                ("wwan0", "DEVTYPE=wwan\n"),
                ("br0", "DEVTYPE=bridge\n"), ("wg0", "DEVTYPE=wireguard\n"),
            ] {
                try FileManager.default.createDirectory(
                    at: folder.appending(path: name),
                    withIntermediateDirectories: true
                )
                try text.write(to: folder.appending(path: "\(name)/uevent"), atomically: true, encoding: .utf8)
            }
            let classifier = LinkClassifier(folder: folder.path)
            let ether = UInt16(ARPHRD_ETHER)
            let expected: [(String, UInt16, LinkKind)] = [
                ("lo", UInt16(ARPHRD_LOOPBACK), .loopback), ("eth0", ether, .wired), ("wlan0", ether, .wireless),
                ("wwan0", UInt16(ARPHRD_NONE), .cellular), ("br0", ether, .wired), ("wg0", UInt16(ARPHRD_NONE), .other),
                ("gone", ether, .wired), ("..", ether, .wired), ("tun0", UInt16(ARPHRD_NONE), .other),
            ]
            for (name, hardware, kind) in expected {
                #expect(classifier.kind(name: name, hardware: hardware) == kind, "\(name)")
            }
        }
    }
#endif
