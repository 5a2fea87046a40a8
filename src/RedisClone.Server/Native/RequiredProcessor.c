// The native executable is compiled for x86-64-v3. This function runs before the runtime starts, which would end with a core
// dump and a message that names no feature. It says what the processor lacks, and ends with status 1.
#include <cpuid.h>
#include <string.h>
#include <unistd.h>

static char text[512] = "This executable of RedisClone needs a processor of the level x86-64-v3. Missing:";

static int Require(int has, const char *name)
{
    if (has) return 0;
    strcat(text, " ");
    strcat(text, name);
    return 1;
}

__attribute__((constructor(101))) static void RequireProcessor(void)
{
    unsigned a, basic = 0, edx, ebx = 0, c, d, extended = 0, enabled = 0;
    if (!__get_cpuid(1, &a, &c, &basic, &edx)) basic = 0;
    if (!__get_cpuid_count(7, 0, &a, &ebx, &c, &d)) ebx = 0;
    if (!__get_cpuid(0x80000001, &a, &c, &extended, &d)) extended = 0;
    // The system must save the wide registers when it switches threads.
    if (basic & bit_OSXSAVE) __asm__("xgetbv" : "=a"(enabled), "=d"(d) : "c"(0));
    int wide = (enabled & 6) == 6;

    int missing = Require(basic & bit_SSE3, "SSE3") + Require(basic & bit_SSSE3, "SSSE3") + Require(basic & bit_SSE4_1, "SSE4.1")
        + Require(basic & bit_SSE4_2, "SSE4.2") + Require(basic & bit_POPCNT, "POPCNT") + Require(basic & bit_CMPXCHG16B, "CMPXCHG16B")
        + Require(wide && basic & bit_AVX, "AVX") + Require(wide && ebx & bit_AVX2, "AVX2") + Require(ebx & bit_BMI, "BMI1")
        + Require(ebx & bit_BMI2, "BMI2") + Require(wide && basic & bit_F16C, "F16C") + Require(wide && basic & bit_FMA, "FMA")
        + Require(extended & bit_LZCNT, "LZCNT") + Require(basic & bit_MOVBE, "MOVBE");
    if (missing == 0) return;

    strcat(text, ".\nWithout this requirement, .NET runs it from source: dotnet run -c Release --project src/RedisClone.Server\n");
    if (write(STDERR_FILENO, text, strlen(text)) < 0) _exit(1);
    _exit(1);
}
