import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

@Suite("Storage media")
struct StorageMediumTests {
    private static let table = """
        22 28 0:21 / /proc rw,nosuid - proc proc rw
        28 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
        41 28 0:38 / /home/ada/nas rw - nfs4 nas.example.org:/ada rw,vers=4.2
        42 28 0:39 / /mnt/with\\040space rw shared:9 master:2 - fuse.sshfs ada@host: rw,user_id=0
        43 28 0:40 / /host rw - 9p hostshare rw,trans=virtio
        44 28 0:41 / /far rw - 9p far rw,trans=tcp,port=564
        45 28 0:42 /sub /data rw - btrfs /dev/mapper/data rw,subvol=/sub
        46 28 0:43 / /plain rw - fuse.gocryptfs /cipher rw
        47 28 0:44 / /layers rw - overlay /dev/vda rw,lowerdir=/a
        48 28 0:45 / /own rw - fuse.plain /dev/vda rw
        49 28 0:46 / /flat rw - btrfs data rw
        """

    @Test("The kernel's mount table is parsed, and malformed lines are passed over")
    func theTableIsRead() throws {
        let root = try #require(MountEntry.find(28, in: Self.table))
        #expect(root.device == "254:0" && root.type == "ext4" && root.source == "/dev/root")
        let space = try #require(MountEntry.find(42, in: Self.table))
        #expect(space.type == "fuse.sshfs" && space.source == "ada@host:")
        #expect(MountEntry.find(45, in: Self.table)?.options == "rw,subvol=/sub")
        #expect(MountEntry.find(99, in: Self.table) == nil)
        for line in ["", "x", "1 2 3", "28 1 254:0 / / rw - ext4", "a 1 254:0 / / rw - ext4 dev rw x"] {
            #expect(MountEntry(line: line) == nil)
        }
    }

    @Test("Network file systems are recognized by type and source")
    func networkFileSystemsAreKnown() throws {
        for (id, isNetwork) in [28: false, 41: true, 42: true, 43: false, 44: true, 45: false, 46: false] {
            #expect(MountEntry.find(id, in: Self.table)?.isNetwork == isNetwork)
        }
        let mount = try #require(MountEntry.find(41, in: Self.table))
        let place = StorageMedium.of(mount, device: nil, isNetwork: false, hasFilePolicy: false)
        #expect(place.medium == .network && place.isEncrypted == nil)
    }

    @Test("Encryption is found in the file system, the file policy or the stack below")
    func encryptionIsFound() throws {
        let root = try #require(MountEntry.find(28, in: Self.table))
        let disk = BlockDevice()
        #expect(
            StorageMedium.of(root, device: nil, isNetwork: false, hasFilePolicy: false).medium == .unknown)
        let plain = StorageMedium.of(root, device: disk, isNetwork: false, hasFilePolicy: false)
        #expect(plain.medium == .fixed && plain.isEncrypted == false)
        #expect(
            StorageMedium.of(root, device: disk, isNetwork: false, hasFilePolicy: true).isEncrypted == true)
        let stacked = try #require(MountEntry.find(46, in: Self.table))
        #expect(
            StorageMedium.of(stacked, device: nil, isNetwork: false, hasFilePolicy: false).isEncrypted == true
        )
    }

    @Test("The source of a mount without its own device counts only where the kernel names the device")
    func sourcesAreDevicesOnlyWhereTheKernelSaysSo() throws {
        for id in [28, 41, 42, 43, 44, 46, 47, 48, 49] {
            let mount = try #require(MountEntry.find(id, in: Self.table))
            #expect(mount.sourceDevice == nil, "\(mount.type)")
        }
        #expect(MountEntry.find(45, in: Self.table)?.sourceDevice == "/dev/mapper/data")
    }

    @Test("The medium of this machine's own scratch directory can be told")
    func aRealDirectoryHasAPlace() throws {
        let scratch = try ScratchDirectory.make()
        let place = try StorageMedium.of(scratch.descriptor)
        #expect(place.medium != .network)
        let memory = try? Descriptor.open("/dev/shm", [.read, .directory])
        switch memory {
        case .some(let memory):
            if try FileSystemInfo.of(memory).isMemory {
                #expect(try StorageMedium.of(memory).medium == .memory)
            }
        case .none: break
        }
    }
}

/// A made-up /sys: devices below `devices`, and links to them as the kernel has them.
@Suite("Block devices")
struct BlockDeviceTests {
    private func make(
        _ scratch: borrowing ScratchDirectory, _ files: [String: String], _ links: [String: String]
    )
        throws
    {
        let manager = FileManager.default
        for (name, text) in files {
            let path = scratch.path(of: name)
            try manager.createDirectory(
                atPath: URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false),
                withIntermediateDirectories: true)
            try Data((text + "\n").utf8).write(to: URL(filePath: path))
        }
        for (name, target) in links {
            let path = scratch.path(of: name)
            try manager.createDirectory(
                atPath: URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false),
                withIntermediateDirectories: true)
            try manager.createSymbolicLink(
                atPath: path, withDestinationPath: scratch.path(of: target))
        }
    }

    @Test("USB disks, optical disks and memory cards are recognized as removable")
    func whatCanBePulledOutIsFound() throws {
        let scratch = try ScratchDirectory.make()
        try make(
            scratch,
            [
                "devices/pci/ata1/block/sda/removable": "0", "devices/pci/ata1/block/sda/sda1/partition": "1",
                "devices/pci/usb2/2-1/block/sdb/removable": "0",
                "devices/pci/usb2/2-1/block/sdb/sdb1/partition": "1",
                "devices/pci/ata2/block/sr0/removable": "1",
                "devices/mmc_host/mmc0/block/mmcblk0/device/type": "SD",
                "devices/mmc_host/mmc1/block/mmcblk1/device/type": "MMC",
                "devices/platform/usbhost/block/sdc/removable": "0",
            ],
            [
                "dev/block/8:1": "devices/pci/ata1/block/sda/sda1",
                "dev/block/8:17": "devices/pci/usb2/2-1/block/sdb/sdb1",
                "dev/block/11:0": "devices/pci/ata2/block/sr0",
                "dev/block/179:0": "devices/mmc_host/mmc0/block/mmcblk0",
                "dev/block/179:8": "devices/mmc_host/mmc1/block/mmcblk1",
                "dev/block/8:32": "devices/platform/usbhost/block/sdc",
            ])
        let expected = [
            "8:1": false, "8:17": true, "11:0": true, "179:0": true, "179:8": false, "8:32": false,
        ]
        for (number, isRemovable) in expected {
            let device = try #require(BlockDevice.find(number, system: scratch.path))
            #expect(device.isRemovable == isRemovable, "\(number)")
            #expect(!device.isEncrypted)
        }
        #expect(BlockDevice.find("8:99", system: scratch.path) == nil)
        #expect(BlockDevice.find("../../../dev", system: scratch.path) == nil)
    }

    @Test("A mapped device is as removable and as encrypted as the devices below it")
    func mappedDevicesAreWhatIsBelowThem() throws {
        let scratch = try ScratchDirectory.make()
        try make(
            scratch,
            [
                "devices/pci/usb2/block/sdb/removable": "1", "devices/pci/ata1/block/sda/removable": "0",
                "devices/virtual/block/dm-0/dm/uuid": "CRYPT-LUKS2-0123-data",
                "devices/virtual/block/dm-1/dm/uuid": "LVM-abc",
                "devices/virtual/block/dm-2/dm/uuid": "LVM-def",
                "devices/virtual/block/dm-3/dm/uuid": "LVM-loop",
            ],
            [
                "devices/virtual/block/dm-0/slaves/sdb": "devices/pci/usb2/block/sdb",
                "devices/virtual/block/dm-1/slaves/dm-0": "devices/virtual/block/dm-0",
                "devices/virtual/block/dm-2/slaves/dm-0": "devices/virtual/block/dm-0",
                "devices/virtual/block/dm-2/slaves/sda": "devices/pci/ata1/block/sda",
                "devices/virtual/block/dm-3/slaves/dm-3": "devices/virtual/block/dm-3",
                "dev/block/253:0": "devices/virtual/block/dm-0",
                "dev/block/253:1": "devices/virtual/block/dm-1",
                "dev/block/253:2": "devices/virtual/block/dm-2",
                "dev/block/253:3": "devices/virtual/block/dm-3",
            ])
        let onCrypt = try #require(BlockDevice.find("253:1", system: scratch.path))
        #expect(onCrypt.isRemovable && onCrypt.isEncrypted)
        let mixed = try #require(BlockDevice.find("253:2", system: scratch.path))
        #expect(mixed.isRemovable && !mixed.isEncrypted)
        // A ring, which the kernel never makes, ends.
        #expect(BlockDevice.find("253:3", system: scratch.path)?.isEncrypted == false)
    }

    @Test(
        "Only a mapping that encrypts counts as encrypted, not every mapping of cryptsetup",
        arguments: [
            ("LUKS1-0123-a", true), ("LUKS2-0123-a", true), ("PLAIN-a", true), ("TCRYPT-0123-a", true),
            ("BITLK-0123-a", true), ("FVAULT2-0123-a", true), ("LOOPAES-a", true),
            ("INTEGRITY-0123-a", false), ("VERITY-0123-a", false), ("SUBDEV-0123-a", false), ("LUKS", false),
        ])
    func mappingsThatDoNotEncryptAreTold(_ identifier: String, _ isEncrypted: Bool) throws {
        let scratch = try ScratchDirectory.make()
        try make(
            scratch,
            [
                "devices/virtual/block/dm-0/dm/uuid": "CRYPT-\(identifier)",
                "devices/pci/ata1/block/sda/removable": "0",
                // A check of integrity above an encrypted device.
                "devices/virtual/block/dm-1/dm/uuid": "CRYPT-INTEGRITY-0123-b",
            ],
            [
                "devices/virtual/block/dm-0/slaves/sda": "devices/pci/ata1/block/sda",
                "devices/virtual/block/dm-1/slaves/dm-0": "devices/virtual/block/dm-0",
                "dev/block/253:0": "devices/virtual/block/dm-0",
                "dev/block/253:1": "devices/virtual/block/dm-1",
                "block/dm-0": "devices/virtual/block/dm-0", "block/dm-1": "devices/virtual/block/dm-1",
            ])
        for number in ["253:0", "253:1"] {
            let device = BlockDevice.find(number, system: scratch.path)
            #expect(device?.isEncrypted == isEncrypted, "\(number)")
        }
        for name in ["dm-0", "dm-1"] {
            let device = BlockDevice.named(name, system: scratch.path)
            #expect(device?.isEncrypted == isEncrypted, "\(name)")
        }
        #expect(BlockDevice.named("dm-9", system: scratch.path) == nil)
        #expect(BlockDevice.named("../dev", system: scratch.path) == nil)
    }
}
