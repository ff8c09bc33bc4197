import CofferCommandLine
import CofferEngine

// coffer asked for immediate binding. A program that asks a person is none of its concern.
CompanionProgram.start(PKCS11Root.self, withdrawing: ImmediateBinding.withdraw)
MainExecutor.run { await PKCS11Root.start(ProgramArguments.all) }
