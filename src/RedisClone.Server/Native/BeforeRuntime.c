// What the native executable does before the runtime starts.
#include <string.h>
#include <strings.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>

static char text[512] = "This executable of RedisClone needs a processor of the level x86-64-v3. Missing:";
static int missing;

static void Require(int has, const char *name)
{
    if (has) return;
    missing = 1;
    strcat(text, " ");
    strcat(text, name);
}

// The executable is compiled for x86-64-v3. On another processor, the runtime would end with a core dump and a message that
// names no feature. This function says what the processor lacks, and ends with status 1.
__attribute__((constructor(101))) static void RequireProcessor(void)
{
    unsigned a, basic = 0, edx, ebx = 0, c, d, extended = 0, enabled = 0;
    if (!__get_cpuid(1, &a, &c, &basic, &edx)) basic = 0;
    if (!__get_cpuid_count(7, 0, &a, &ebx, &c, &d)) ebx = 0;
    if (!__get_cpuid(0x80000001, &a, &c, &extended, &d)) extended = 0;
    // The system must save the wide registers when it switches threads.
    if (basic & bit_OSXSAVE) __asm__("xgetbv" : "=a"(enabled), "=d"(d) : "c"(0));
    int wide = (enabled & 6) == 6;

    Require(basic & bit_SSE3, "SSE3");
    Require(basic & bit_SSSE3, "SSSE3");
    Require(basic & bit_SSE4_1, "SSE4.1");
    Require(basic & bit_SSE4_2, "SSE4.2");
    Require(basic & bit_POPCNT, "POPCNT");
    Require(basic & bit_CMPXCHG16B, "CMPXCHG16B");
    Require(wide && basic & bit_AVX, "AVX");
    Require(wide && ebx & bit_AVX2, "AVX2");
    Require(ebx & bit_BMI, "BMI1");
    Require(ebx & bit_BMI2, "BMI2");
    Require(wide && basic & bit_F16C, "F16C");
    Require(wide && basic & bit_FMA, "FMA");
    Require(extended & bit_LZCNT, "LZCNT");
    Require(basic & bit_MOVBE, "MOVBE");
    if (!missing) return;

    strcat(text, ".\nThe server also runs under .NET, which needs none of it: dotnet run -c Release --project src/RedisClone.Server\n");
    if (write(STDERR_FILENO, text, strlen(text)) < 0) _exit(1);
    _exit(1);
}
#endif

extern char **environ;

// The runtime of .NET reads settings such as DOTNET_GCHeapHardLimit=0x6000000 with or without 0x. The native runtime reads a
// number with 0x as zero, and a limit of the heap would have no effect.
__attribute__((constructor(102))) static void AcceptHexadecimalSettings(void)
{
    for (char **variable = environ; *variable; variable++) {
        if (strncasecmp(*variable, "DOTNET_GC", 9) != 0) continue;
        char *value = strchr(*variable, '=');
        if (value && value[1] == '0' && (value[2] == 'x' || value[2] == 'X')) memmove(value + 1, value + 3, strlen(value + 3) + 1);
    }
}
