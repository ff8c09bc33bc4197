import CofferEngine
import Testing

@Suite("Processor features")
struct ProcessorFeaturesTests {
    #if arch(x86_64)
        @Test(
            "The mask is read as OpenSSL reads it",
            arguments: [
                (":~0x20000000", false), ("~0x200000200000000:~0x20000000", false), (":0", false),
                ("~0x1200020200000000:0", false), ("0x1", false), ("", false), (":", false), (":~0", true),
                (":~0x1", true), (":0x20000000", true), (":0x20000001", true), (":536870912", true),
                (":~536870912", false), (":04000000000", true), (":0x1fffffff", false), (":rubbish", false),
                (":~rubbish", true), ("1:0xffffffffffffffff", true), (":0xfffffffffffffffffff", false),
            ])
        func masks(setting: String, isAllowed: Bool) {
            #expect(ProcessorFeatures.allowsSHA256(setting) == isAllowed)
        }
    #endif

    @Test("The portable setting masks our own instructions, too")
    func portable() throws {
        let setting = try #require(ProcessorFeatures.portableSetting)
        #expect(!ProcessorFeatures.allowsSHA256(setting.value))
        #expect(ProcessorFeatures.libraryDescription.contains("CPUINFO"))
    }
}
